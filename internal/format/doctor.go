// This part defines and prints the findings of c2c doctor, the command that checks whether c2c
// works. The checks are elsewhere: each package checks its own files. A check changes nothing.

package format

// Status is how serious a Finding is.
type Status string

// A Warning is perhaps no problem: the person may want it so, or only the client knows whether it
// is a problem.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// A Finding is the result of one check.
type Finding struct {
	Client  string `json:"client,omitempty"`
	Status  Status `json:"status"`
	Part    string `json:"part"` // what was checked: "root", "mcp server", "hook Stop", "session amber"
	Path    string `json:"path"`
	Detail  string `json:"detail"`              // the facts, and what to do about them
	Session string `json:"session,omitempty"`   // the alias of the session
	Ring    any    `json:"last_ring,omitempty"` // the last try to wake the session
}

// Failed returns the finding that a part could not be checked.
func Failed(part, path string, err error) Finding {
	return Finding{Status: Problem, Part: part, Path: path, Detail: err.Error()}
}
