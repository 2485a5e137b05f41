package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/e2e/wireagent"
)

// TestMain runs the tests where they can reach neither the network nor the person's own clients.
//
//	C2C_E2E=1             run the real clients; without it nothing runs here (make e2e runs them)
//	C2C_E2E_CLIENTS=dirs  where scripts/e2e.sh has installed them, one folder each, with colons between them
//	C2C_E2E_TOOLS=dirs    the same for programs of others, such as nats-server
//	C2C_E2E_BIN=dir       c2c and c2cd to test
//	C2C_E2E_SCRATCH=dir   where homes and projects are made, not below /tmp
//	C2C_E2E_SOURCE=dir    c2c's source, to build it as its README says
//	C2C_E2E_GO=dirs       GOROOT, GOCACHE and GOMODCACHE for that, with colons between them
func TestMain(m *testing.M) {
	if done, err := helper(os.Args[1:]); done {
		if err != nil {
			fmt.Fprintln(os.Stderr, "e2e helper:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Not a skip: the CI forbids those, and runs the clients as a step of its own.
	if os.Getenv("C2C_E2E") == "" {
		fmt.Println("e2e: the real clients are off; `make e2e` installs and runs them")
		os.Exit(0)
	}
	keep := append(clientFolders(), os.Getenv("C2C_E2E_BIN"), os.Getenv("C2C_E2E_SCRATCH"), os.Getenv("C2C_E2E_SOURCE"))
	keep = append(keep, filepath.SplitList(os.Getenv("C2C_E2E_GO"))...)
	keep = append(keep, filepath.SplitList(os.Getenv("C2C_E2E_TOOLS"))...)
	status, isolated, err := lab.Isolate(keep...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
	}
	if isolated {
		status = m.Run()
	}
	os.Exit(status)
}

// helper runs what the clients start from the test binary, if args ask for it.
func helper(args []string) (bool, error) {
	switch {
	case len(args) >= 2 && args[0] == probeVerb:
		return true, serveProbe(args[1])
	case len(args) >= 2 && args[0] == wireVerb:
		return true, wireagent.Run(args[1], os.Stdin, os.Stdout)
	case len(args) >= 3 && args[0] == killerVerb:
		return true, killHook(args[1], args[2], args[3:])
	}
	return false, nil
}

// newLab makes a lab with the programs under test.
func newLab(t *testing.T) *lab.Lab {
	t.Helper()
	programs, err := lab.FindPrograms(clientFolders(), lab.Programs{
		Bin: os.Getenv("C2C_E2E_BIN"), Scratch: os.Getenv("C2C_E2E_SCRATCH")})
	if err != nil {
		t.Fatal(err)
	}
	return lab.New(t, programs)
}

func clientFolders() []string { return filepath.SplitList(os.Getenv("C2C_E2E_CLIENTS")) }

// once fails the test unless the model sees text exactly one time in r, and returns where.
func once(t *testing.T, r *lab.Request, text string) lab.Item {
	t.Helper()
	found := r.Find(text)
	if len(found) != 1 {
		t.Fatalf("the model sees %q %d times, want once, in:\n%s", text, len(found), r)
	}
	return found[0]
}

// hookJSON is a shell command that answers a hook event with context.
func hookJSON(event, text string) string {
	return fmt.Sprintf(`printf '%%s' '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"%s"}}'`, event, text)
}

// capture is a shell command that appends a hook's standard input, as one line, and its environment
// to files.
func capture(path string) string {
	return fmt.Sprintf(`{ tr -d '\n'; echo; } >> %[1]s.jsonl; env | sort >> %[1]s.env; echo >> %[1]s.env`, path)
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// events reads what capture wrote: one hook event a line.
func events(t *testing.T, l *lab.Lab, name string) []hookEvent {
	t.Helper()
	var all []hookEvent
	for _, line := range lines(l.Read(name + ".jsonl")) {
		var e hookEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

// hookEvent is what both clients put on a hook's standard input, as far as c2c relies on it.
type hookEvent struct {
	SessionID      string `json:"session_id"`
	Event          string `json:"hook_event_name"`
	Source         string
	Prompt         string
	ToolName       string `json:"tool_name"`
	AgentID        string `json:"agent_id"`
	AgentType      string `json:"agent_type"`
	Mode           string `json:"permission_mode"`
	StopHookActive bool   `json:"stop_hook_active"`
}

// environment reads the first environment that capture wrote.
func environment(l *lab.Lab, name string) map[string]string {
	env := map[string]string{}
	first, _, _ := strings.Cut(l.Read(name+".env"), "\n\n")
	for _, line := range lines(first) {
		key, value, _ := strings.Cut(line, "=")
		env[key] = value
	}
	return env
}

// probe returns the command line of the probe server; what it receives goes to probe.jsonl in the
// home.
func probe(t *testing.T, l *lab.Lab) (program string, args []string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program, []string{probeVerb, l.Home + "/probe.jsonl"}
}
