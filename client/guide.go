package client

// Guide is what people want to know of a client before they use it with c2c: docs/clients.md is made of these.
// c2c links none of it: only c2cd and the tests call Guides.
type Guide struct {
	Client string // Profile.Name
	Title  string // the name that its maker gives it
	// Package is its npm package, Tested the version that the tests run, Date the day when it was measured. Without the
	// first two it could not be run, and all is from its documentation.
	Package, Tested, Date string
	// Active, Idle and Last say how mail reaches a session that works, one that waits for its person, and either when
	// that way is missing. Receipt is what proves that the client has it, Answer what tells that its model has answered.
	Active, Idle, Last, Receipt, Answer string
	Sees                                string   // what the recorded screens (e2e/testdata/screens) do not say of what its person sees
	SetUp                               string   // what c2c install puts where, and what the client asks its person
	Quirks                              []string // what may surprise a person
}

// Guides lists them in the order of All. A new client gets a line here, too.
func Guides() []Guide {
	return []Guide{claudeGuide(), codexGuide(), opencodeGuide(), copilotGuide(), qwenGuide(), kimiGuide(), geminiGuide(), cursorGuide()}
}

// FindGuide gives the guide of a client, an empty one when there is none.
func FindGuide(name string) (found Guide) {
	for _, g := range Guides() {
		if g.Client == name {
			found = g
		}
	}
	return found
}
