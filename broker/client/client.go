// Package client holds what c2c knows about each AI program it serves: data only, one file a client.
// Nothing here is on disk and nothing changes after start, so every function may be called from
// any goroutine at once.
package client

// Profile is what c2c knows about one client.
type Profile struct {
	// Name is how people, the registry (client_type) and `c2c install` call it.
	Name string
	// SessionEnv is the variable in which the client tells its children its own session id, or empty.
	SessionEnv string
	// TrustEnv says whether SessionEnv, found in our environment, names the session we run in.
	TrustEnv bool
	// ShellEnv says the same of a shell that the client started, where its MCP server and hooks differ.
	ShellEnv bool
	// AliasPrefix starts the aliases made for sessions of this client.
	AliasPrefix string
}

// All lists every profile, in the order in which their environments are asked.
func All() []Profile {
	return []Profile{claude(), codex()}
}

// Find gives the profile of a client by name.
func Find(name string) (Profile, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}
