package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"c2c/broker"
	"c2c/install"
	"c2c/wake"
)

// finding is one line of doctor's report.
type finding struct {
	Client string `json:"client,omitempty"`
	install.Finding
	Session string     `json:"session,omitempty"` // its alias
	Ring    *wake.Ring `json:"last_ring,omitempty"`
}

// doctor looks at the root and at each client's configuration, and changes nothing.
func (a *app) doctor(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("doctor", flag.ContinueOnError)
	fs.SetOutput(a.stderr)
	trip := fs.Bool("roundtrip", false, "also send a message to itself, by the hook and by the MCP server")
	asJSON := fs.Bool("json", false, "print JSON")
	if rest, err := words(fs, args); err != nil || len(rest) > 0 {
		return fmt.Errorf("%w: c2c doctor takes --roundtrip and --json and nothing else", errUsage)
	}
	report := a.checkSettings()
	report = append(report, a.checkRoot(ctx)...)
	clients, err := a.checkClients(ctx)
	if err != nil {
		return err
	}
	report = append(report, clients...)
	if *trip {
		report = append(report, a.checkTrip(ctx))
	}
	if *asJSON {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		a.printReport(report)
	}
	problems := 0
	for _, f := range report {
		if f.Status == install.Problem {
			problems++
		}
	}
	if err == nil && problems > 0 {
		err = fmt.Errorf("%d problems", problems)
	}
	return err
}

func (a *app) printReport(report []finding) {
	for _, f := range short(report) {
		what := f.Part
		if f.Client != "" {
			what = f.Client + " " + what
		}
		where := ""
		if f.Path != "" {
			where = " (" + f.Path + ")"
		}
		fmt.Fprintf(a.stdout, "%-8s %s: %s%s\n", f.Status, what, f.Detail, where)
	}
}

// short fits a report on a screen: hooks of one file with nothing wrong share a line, and so do the
// sessions behind the first few.
func short(report []finding) (lines []finding) {
	sessions := 0
	for _, f := range report {
		if f.Session != "" {
			if sessions++; sessions == maxSessions+1 {
				f.Part, f.Detail = "more sessions", "c2c doctor --json shows all"
			} else if sessions > maxSessions {
				continue
			}
		}
		if n := len(lines) - 1; n >= 0 && goodHook(f) && goodHook(lines[n]) && lines[n].Path == f.Path {
			lines[n].Part += ", " + strings.TrimPrefix(f.Part, "hook ")
			continue
		}
		lines = append(lines, f)
	}
	return lines
}

func goodHook(f finding) bool { return f.Status == install.OK && strings.HasPrefix(f.Part, "hook ") }

func ok(part, path, detail string) finding {
	return finding{Finding: install.Finding{Status: install.OK, Part: part, Path: path, Detail: detail}}
}

func problem(part, path string, err error) finding {
	return finding{Finding: install.Finding{Status: install.Problem, Part: part, Path: path, Detail: err.Error()}}
}

// settings are the variables that c2c obeys, and what holds without them.
var settings = []struct{ name, otherwise string }{
	{"C2C_MCP_BROKER_ROOT", "the repository decides"},
	{"C2C_MCP_SESSION_ID", "the client says which session calls"},
	{"C2C_MCP_AUTO_REGISTER_ALIAS", "a new session gets an alias made up"},
	{"C2C_MCP_CLIENT_TYPE", "the MCP client says what it is"},
	{channelVariable, "no channel: the messaging socket wakes Claude Code"},
	{"XDG_STATE_HOME", "~/.c2c for mail, ~/.local/state/c2c for undo records"},
	{"CLAUDE_CONFIG_DIR", "~/.claude"},
	{"CODEX_HOME", "~/.codex"},
}

func (a *app) checkSettings() []finding {
	report := []finding{ok("version", "", broker.Version)}
	for _, s := range settings {
		detail := "not set: " + s.otherwise
		if v := a.getenv(s.name); v != "" {
			detail = fmt.Sprintf("%q from the environment", v)
		}
		report = append(report, ok(s.name, "", detail))
	}
	return report
}

// checkRoot also looks at the sessions in it.
func (a *app) checkRoot(ctx context.Context) []finding {
	root, source, err := broker.FindRoot(a.getenv, a.cwd)
	if err != nil {
		return []finding{problem("root", "", err)}
	}
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return []finding{ok("root", root, "not there yet; the first session makes it; decided by "+source)}
	}
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		return []finding{problem("root", root, err)}
	}
	defer b.Close()
	return append([]finding{ok("root", root, "private and ours; decided by "+source)}, a.checkWake(ctx, b)...)
}

func (a *app) checkClients(ctx context.Context) ([]finding, error) {
	o, err := a.options(false)
	if err != nil {
		return nil, err
	}
	var report []finding
	for _, client := range install.Detect(o) {
		found, err := install.Inspect(client, o)
		if err != nil {
			return nil, err
		}
		report = append(report, a.checkProgram(ctx, client))
		for _, f := range found {
			report = append(report, finding{Client: client, Finding: f})
		}
	}
	return report, nil
}

// programTime bounds `<client> --version`.
const programTime = 10 * time.Second

// checkProgram is a warning at worst: an editor may run a client that is on nobody's path.
func (a *app) checkProgram(ctx context.Context, client string) finding {
	f := finding{Client: client, Finding: install.Finding{Status: install.Warning, Part: "program", Detail: "not on the PATH"}}
	for _, dir := range filepath.SplitList(a.getenv("PATH")) {
		path := filepath.Join(dir, client)
		if info, err := os.Stat(path); err != nil || !filepath.IsAbs(path) || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		f.Path = path
		ctx, cancel := context.WithTimeout(ctx, programTime)
		defer cancel()
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		if err != nil {
			f.Detail = fmt.Sprintf("does not tell its version: %v", err)
			return f
		}
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		f.Status, f.Detail = install.OK, fmt.Sprintf("version %.80q", line)
		return f
	}
	return f
}

func (a *app) checkTrip(ctx context.Context) finding {
	if err := a.roundtrip(ctx); err != nil {
		return problem("round trip", "", err)
	}
	return ok("round trip", "", "sent, taken by the hook and by poll_inbox, read")
}
