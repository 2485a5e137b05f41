// Package doctor defines the report of a check and prints it, for c2c doctor. Each package checks its own files. A check
// changes nothing.
package doctor

// Status is how serious a Finding is.
type Status string

// A Warning is something that may be as the person wants it, or something that only the client can know for certain.
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
	Detail  string `json:"detail"`              // what the check has found, and what to do
	Session string `json:"session,omitempty"`   // the alias of the session
	Ring    any    `json:"last_ring,omitempty"` // the last try to wake the session
}

// Failed returns the finding for a part that could not be checked.
func Failed(part, path string, err error) Finding {
	return Finding{Status: Problem, Part: part, Path: path, Detail: err.Error()}
}
