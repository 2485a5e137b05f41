package client

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"c2c/internal/atomicfile"
	"c2c/internal/proc"
)

// maxFile bounds a file that readJSON reads, in bytes.
const maxFile = 64 << 10

// processFile has the fields that c2c reads of a file in which a process of a client describes
// itself.
type processFile struct {
	PID, Port int
	SessionID string
}

// SessionOf returns the id of the session that a process of the client has now, from the file
// SessionFile. It returns "" if the file does not name a session.
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

// ProposedAlias returns the alias that the project in dir proposes for a session of the client, or
// "".
func (p Profile) ProposedAlias(dir string) string {
	var said struct{ Alias string }
	if p.ProjectFile == "" || !readJSON(filepath.Join(dir, p.ProjectFile), &said) {
		return ""
	}
	return said.Alias
}

// readJSON parses a file of another program. It returns false if the file is missing or is not such
// JSON.
func readJSON(path string, into any) bool {
	data, err := atomicfile.ReadForeign(path, maxFile)
	return err == nil && json.Unmarshal(data, into) == nil
}

// Server returns the port on which a process of the client serves many sessions to programs of this
// machine, from the process's file in Servers. ok is false if there is no such port. The file may
// be old, or from another container, so Server checks that the process listens on the port.
func (p Profile) Server(pid int, getenv func(string) string) (port int, ok bool) {
	if p.Servers == "" || pid <= 0 || getenv == nil {
		return 0, false
	}
	config, _ := p.Config(getenv)
	dir := filepath.Join(config, p.Servers)
	files, _ := os.ReadDir(dir)
	for _, file := range files {
		var said processFile
		if readJSON(filepath.Join(dir, file.Name()), &said) && said.PID == pid && proc.Listens(pid, said.Port) {
			return said.Port, true
		}
	}
	return 0, false
}

// Shared reports whether a process of the client serves many sessions, so that the process alone
// does not show which session calls.
func (p Profile) Shared(pid int, getenv func(string) string) bool {
	_, serves := p.Server(pid, getenv)
	return p.SharedProcess || serves
}
