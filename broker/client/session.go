package client

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// maxSessionFile bounds a file that is the client's and not ours.
const maxSessionFile = 64 << 10

// SessionOf gives the id of the session that a process of the client has now, by the client's own file; "" when it
// does not say.
func (p Profile) SessionOf(pid int, getenv func(string) string) string {
	if p.SessionFile == "" || pid <= 0 || getenv == nil {
		return ""
	}
	dir, _ := p.Config(getenv)
	// O_NONBLOCK: a pipe in its place would keep us waiting for a writer.
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf(p.SessionFile, pid)), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSessionFile))
	var said struct {
		PID       int
		SessionID string
	}
	if err != nil || json.Unmarshal(data, &said) != nil || said.PID != pid {
		return ""
	}
	return said.SessionID
}
