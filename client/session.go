package client

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"c2c/inbox/atomicfile"
	"c2c/process/procstat"
)

// maxFile bounds such a file.
const maxFile = 64 << 10

// processFile is what a process of a client says of itself in a file.
type processFile struct {
	PID, Port int
	SessionID string
}

// SessionOf gives the id of the session that a process of the client has now, by the client's own file; "" when it
// does not say.
func (p Profile) SessionOf(pid int, getenv func(string) string) string {
	if p.SessionFile == "" || pid <= 0 || getenv == nil {
		return ""
	}
	dir, _ := p.Config(getenv)
	var said processFile
	if !readJSON(filepath.Join(dir, fmt.Sprintf(p.SessionFile, pid)), &said) || said.PID != pid {
		return ""
	}
	return said.SessionID
}

// ProposedAlias gives the alias that the project in dir proposes for a session of the client; "" when it does not.
func (p Profile) ProposedAlias(dir string) string {
	var said struct{ Alias string }
	if p.ProjectFile == "" || !readJSON(filepath.Join(dir, p.ProjectFile), &said) {
		return ""
	}
	return said.Alias
}

// readJSON reads a file that is not ours.
func readJSON(path string, into any) bool {
	data, err := atomicfile.ReadForeign(path, maxFile)
	return err == nil && json.Unmarshal(data, into) == nil
}

// Server gives the port on which a process of the client serves many sessions to programs of this machine, by the
// client's own file; ok is false when it does not. The file may be an old one, or of another container: so the process has
// to listen there.
func (p Profile) Server(pid int, getenv func(string) string) (port int, ok bool) {
	if p.Servers == "" || pid <= 0 || getenv == nil {
		return 0, false
	}
	config, _ := p.Config(getenv)
	dir := filepath.Join(config, p.Servers)
	files, _ := os.ReadDir(dir)
	for _, file := range files {
		var said processFile
		if readJSON(filepath.Join(dir, file.Name()), &said) && said.PID == pid && procstat.Listens(pid, said.Port) {
			return said.Port, true
		}
	}
	return 0, false
}

// Shared says whether a process of the client serves many sessions, so that it does not tell which one calls.
func (p Profile) Shared(pid int, getenv func(string) string) bool {
	_, serves := p.Server(pid, getenv)
	return p.SharedProcess || serves
}
