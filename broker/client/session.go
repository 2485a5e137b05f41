package client

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"c2c/inbox/atomicfile"
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
	f, _, err := atomicfile.OpenForeign(filepath.Join(dir, fmt.Sprintf(p.SessionFile, pid)))
	if err != nil {
		return ""
	}
	defer f.Close()
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
