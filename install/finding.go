package install

import (
	"fmt"
	"strings"

	"c2c/internal/format"
	"c2c/internal/proc"
)

// partServer is the name of the MCP server in findings.
const partServer = "mcp server"

// PartNone is the part of a finding about a client that has no part of c2c.
const PartNone = "c2c"

// part returns the name that findings use for our part of t.
func (t target) part() string {
	if strings.HasPrefix(t.editor.kind(), kindOfServers) {
		return partServer
	}
	if e, ok := t.editor.(scriptEditor); ok {
		return e.part
	}
	return t.editor.kind()
}

// broken returns a problem that another `c2c install` repairs.
func (t target) broken(part, what string) format.Finding {
	with := ""
	if t.project != "" {
		with = " --project"
	}
	return problem(t.client, part, t.path, what+"; c2c install "+t.client+with+" repairs it")
}

// good returns a finding that our part is in place.
func (t target) good(part, detail string) format.Finding {
	return format.Finding{Client: t.client, Status: format.OK, Part: part, Path: t.path, Detail: detail}
}

// inspectServer reports on an MCP server entry that starts command.
func (t target) inspectServer(ours bool, command string, o Options) format.Finding {
	switch {
	case !ours && t.other:
		return problem(t.client, partServer, t.path, fmt.Sprintf("another server has the name c2c in this file, and the client uses it instead of c2c's own (it runs %q); remove its entry from the file", command))
	case !ours:
		return t.broken(partServer, fmt.Sprintf("the entry c2c is not for this c2c (it runs %q)", command))
	}
	if _, err := proc.LookPath(command, o.Getenv); err != nil {
		return t.broken(partServer, err.Error())
	}
	return t.good(partServer, command)
}

// server is the entry with the name c2c among a client's MCP servers.
type server struct {
	ours    bool   // this c2c wrote it
	command string // the program that the entry starts
	url     string // the URL of the HTTP daemon; "": the entry starts a program
	key     string // the Authorization header for the daemon, if the file has it
	off     string // why the client does not start the server; "": the client starts it
}

func (s server) part(f *File) part {
	return part{there: true, ours: s.ours, overHTTP: s.url != "", report: func(t target, o Options) []format.Finding {
		found := t.inspectServer(s.ours, s.command, o)
		if s.url != "" {
			found = t.inspectHTTP(s.url, s.key, f, o.HTTP)
		}
		if s.off != "" && found.Status == format.OK {
			found = problem(t.client, partServer, t.path, s.off)
		}
		return []format.Finding{found}
	}}
}

// problem returns a finding about the file at path. If `c2c install` repairs the problem, call
// broken instead.
func problem(client, part, path, detail string) format.Finding {
	return format.Finding{Client: client, Status: format.Problem, Part: part, Path: path, Detail: detail}
}

const notEnabled = "enabled is false in the entry, so the client does not start the server; remove that from the file"
