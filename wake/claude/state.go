package claude

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
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
	// O_NONBLOCK: a pipe in its place would keep us waiting for a writer.
	f, err := os.OpenFile(filepath.Join(config, "sessions", strconv.Itoa(pid)+".json"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Unknown
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Unknown
	}
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
