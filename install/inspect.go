package install

import (
	"fmt"
	"slices"
	"strings"
)

// Status says how serious a Finding is.
type Status string

// A warning is something that only the client knows for certain.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// A Finding is one thing that was looked at.
type Finding struct {
	Status Status `json:"status"`
	Part   string `json:"part"` // "mcp server", "hook Stop", "hook script", "hook trust"
	Path   string `json:"path"`
	Detail string `json:"detail"` // what was found, and for a problem what to do
}

// Inspect reports, without changing anything, whether each part of c2c is in
// place for client and could work.
func Inspect(client string, o Options) ([]Finding, error) {
	s, err := findSetup(client)
	if err != nil {
		return nil, err
	}
	if _, err := s.installTargets(o); err != nil {
		return nil, err
	}
	var servers, rest []Finding
	home := "" // the file that install would put the server into, or the last that may have it
	for _, t := range slices.Backward(s.allTargets(o)) {
		server := t.kind == kindServer || t.kind == kindTOML
		if server && (home == "" || !t.other) {
			home = t.path
		}
		f, err := readFile(t.path)
		switch {
		case err != nil:
			rest = append(rest, Finding{Problem, t.kind, t.path, err.Error()})
		case server:
			servers = append(servers, t.editor.inspect(t, f, o)...)
		default:
			rest = append(rest, t.editor.inspect(t, f, o)...)
		}
	}
	if servers == nil && home != "" {
		servers = []Finding{{Problem, partServer, home, "no entry" + again(client)}}
	}
	if s.inspect != nil {
		rest = append(rest, s.inspect(o)...)
	}
	return slices.Concat(servers, rest), nil
}

// partServer is the MCP server in a Finding.
const partServer = "mcp server"

func again(client string) string { return "; c2c install " + client + " puts it right" }

// inspectCommand reports on an MCP server entry that starts command.
func inspectCommand(t target, ours bool, command string, o Options) Finding {
	f := Finding{OK, partServer, t.path, command}
	if !ours {
		f.Status, f.Detail = Problem, fmt.Sprintf("the entry c2c is not this c2c's (it runs %q)", command)+again(t.client)
	} else if err := runnable(command, o); err != nil {
		f.Status, f.Detail = Problem, err.Error()+again(t.client)
	}
	return f
}

// runnable returns why the program called command cannot be started, or nil.
func runnable(command string, o Options) error {
	if !strings.Contains(command, "/") {
		if lookPath(command, o) == "" {
			return fmt.Errorf("no program %q on PATH", command)
		}
		return nil
	}
	return executable(command)
}
