package client

// Guide holds the facts that people need about a client before they use it with c2c.
// docs/clients.md is made from the guides.
type Guide struct {
	Client string // Profile.Name; the guide of a client leaves it out
	Title  string // the name that its maker uses
	// Package is the client's npm package, Tested the version that the tests run, Date the day of
	// the measurements. If Package and Tested are empty, we could not run the client, and all facts
	// are from its documentation.
	Package, Tested, Date string
	// Active says how mail reaches a session that works. Idle says the same for a session that
	// waits for its person, and Last for both if these ways are missing. Receipt is the proof that
	// the client has the mail, Answer the proof that its model has answered.
	Active, Idle, Last, Receipt, Answer string
	Claimed                             string   // what happens when the client edits a file that another session has claimed
	Sees                                string   // what its person sees, in addition to the recorded screens (e2e/testdata/screens)
	SetUp                               string   // what c2c install writes, and what the client asks its person
	Quirks                              []string // what may surprise a person
}

// Guides returns all guides in the order of All.
func Guides() (all []Guide) {
	for _, name := range Names() {
		all = append(all, FindGuide(name))
	}
	return all
}

// FindGuide returns the guide of a client. For an unknown client the guide is empty.
func FindGuide(name string) (g Guide) {
	if p, known := Find(name); known {
		g = p.guide()
		g.Client = p.Name
	}
	return g
}
