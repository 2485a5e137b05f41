package claude

import (
	"encoding/json"
	"path/filepath"
	"strconv"

	"c2c/inbox/atomicfile"
)

// State is what the client says about its session in <config>/sessions/<pid>.json.
type State string

// Unknown is also what a missing or damaged file says.
const (
	Idle    State = "idle"
	Busy    State = "busy"
	Unknown State = ""
)

// maxState bounds a file that is the client's and not ours.
const maxState = 64 << 10

// record is what a client process says of itself.
type record struct {
	PID       int
	SessionID string `json:"sessionId"`
	Status    State
}

func readRecord(path string) (r record, err error) {
	data, err := atomicfile.ReadForeign(path, maxState)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

// StateOf reads what a client process says of itself.
func StateOf(config string, pid int) State {
	said, err := readRecord(filepath.Join(config, "sessions", strconv.Itoa(pid)+".json"))
	if err != nil || said.PID != pid {
		return Unknown
	}
	if said.Status == Idle || said.Status == Unknown {
		return said.Status
	}
	return Busy // it also has words for kinds of being busy
}
