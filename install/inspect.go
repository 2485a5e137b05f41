package install

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"c2c/broker/client"
	"c2c/broker/doctor"
)

// Inspect reports, without changing anything, whether each part of c2c is in
// place for client and could work. Where no part is, one finding says so: a warning, as nobody need want mail
// there, or a problem when c2c was installed for it and not uninstalled.
func Inspect(client string, o Options) ([]doctor.Finding, error) {
	s, targets, err := findSetup(client, o)
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	var server target // the file that install would put the server into, or the last that may have it
	for _, t := range slices.Backward(targets) {
		part := t.editor.kind()
		if strings.HasPrefix(part, kindOfServers) {
			part = partServer
			if server.path == "" || !t.other {
				server = t
			}
		}
		f, err := readFile(t.path)
		var found []doctor.Finding
		if err == nil {
			found, err = t.editor.inspect(t, f, o)
		}
		if err != nil {
			found = []doctor.Finding{{Client: client, Status: doctor.Problem, Part: part, Path: t.path, Detail: err.Error()}}
		}
		all = append(all, found...)
	}
	isServer := func(f doctor.Finding) bool { return f.Part == partServer }
	if server.path != "" && !slices.ContainsFunc(all, isServer) {
		all = append(all, server.problem(partServer, noEntry))
	}
	if !slices.ContainsFunc(all, func(f doctor.Finding) bool { return !isAbsent(f) }) {
		none := doctor.Finding{Client: client, Status: doctor.Warning, Part: "c2c", Detail: "not set up: c2c install " + client + ", if it is to have mail"}
		j, err := readJournal(o.StateDir)
		if err == nil && slices.ContainsFunc(j.Files, func(r *record) bool { return r.Client == client }) {
			none.Status, none.Detail = doctor.Problem, "was set up, and all of it is gone: run c2c install "+client
		}
		return []doctor.Finding{none}, err
	}
	if s.inspect != nil {
		all = append(all, s.inspect(o)...)
	}
	rest := slices.DeleteFunc(slices.Clone(all), isServer)
	return append(slices.DeleteFunc(all, func(f doctor.Finding) bool { return !isServer(f) }), rest...), nil
}

// partServer is the MCP server in a finding.
const partServer = "mcp server"

// A part that is not there at all; one that is there and wrong has other words.
const (
	noEntry = "no entry"
	noFile  = "no such file"
)

func isAbsent(f doctor.Finding) bool {
	what, _, _ := strings.Cut(f.Detail, ";")
	return f.Status == doctor.Problem && (what == noEntry || what == noFile)
}

// problem is one that installing again ends.
func (t target) problem(part, what string) doctor.Finding {
	return doctor.Finding{Client: t.client, Status: doctor.Problem, Part: part, Path: t.path,
		Detail: what + "; c2c install " + t.client + " puts it right"}
}

// inspectServer reports on an MCP server entry that starts command.
func (t target) inspectServer(ours bool, command string, o Options) doctor.Finding {
	if !ours {
		return t.problem(partServer, fmt.Sprintf("the entry c2c is not this c2c's (it runs %q)", command))
	}
	if _, err := client.LookPath(command, o.Getenv); err != nil {
		return t.problem(partServer, err.Error())
	}
	return doctor.Finding{Client: t.client, Status: doctor.OK, Part: partServer, Path: t.path, Detail: command}
}

// programTime bounds `<client> --version`.
const programTime = 10 * time.Second

// Program reports which version of a client is on the PATH. It is a warning at worst: an editor may run a
// client that is on nobody's path.
func Program(ctx context.Context, name string, o Options) doctor.Finding {
	path, err := client.LookPath(name, o.Getenv)
	f := doctor.Finding{Client: name, Status: doctor.Warning, Part: "program", Path: path}
	if err != nil {
		f.Detail = "not on the PATH"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, f.Path, "--version").Output()
	if err != nil {
		f.Detail = fmt.Sprintf("does not tell its version: %v", err)
		return f
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	f.Status, f.Detail = doctor.OK, fmt.Sprintf("version %.80q", line)
	return f
}
