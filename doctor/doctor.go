// Package doctor defines the findings of c2c doctor, which checks whether c2c works, and prints them. Each package checks its own files.
// A check changes nothing.
package doctor

// Status is how serious a Finding is.
type Status string

// A Warning is a fact that the person may want so, or that only the client can know for certain.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// A Finding is the result of one check.
type Finding struct {
	Client  string `json:"client,omitempty"`
	Status  Status `json:"status"`
	Part    string `json:"part"` // "root", "mcp server", "hook Stop", "session amber"
	Path    string `json:"path"`
	Detail  string `json:"detail"`              // the facts, and what to do about them
	Session string `json:"session,omitempty"`   // the alias of the session
	Ring    any    `json:"last_ring,omitempty"` // the last try to wake the session
}

// Failed returns the finding that a part could not be checked.
func Failed(part, path string, err error) Finding {
	return Finding{Status: Problem, Part: part, Path: path, Detail: err.Error()}
}
