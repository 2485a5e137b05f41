package claude

import (
	"encoding/json"
	"io"
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

// StateOf reads what a client process says of itself.
func StateOf(config string, pid int) State {
	f, _, err := atomicfile.OpenForeign(filepath.Join(config, "sessions", strconv.Itoa(pid)+".json"))
	if err != nil {
		return Unknown
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxState))
	var said struct {
		PID    int
		Status State
	}
	if err != nil || json.Unmarshal(data, &said) != nil || said.PID != pid {
		return Unknown
	}
	if said.Status == Idle || said.Status == Unknown {
		return said.Status
	}
	return Busy // it also has words for kinds of being busy
}
