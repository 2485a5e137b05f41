package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asClaude begins a script in which bash is Claude Code, with the session birch, and amber has sent
// it mail. It ends in the folder shop.
const asClaude = `unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID
	mkdir shop && git init -q shop && cd shop && c2c register --session-id s-amber amber
	export CLAUDE_PID=$$ CLAUDE_CODE_SESSION_ID=u1 C2C_HOOK_ANSWERS=1
	hook() { printf '{"hook_event_name":"%s","session_id":"u1","prompt":"go on"}' "$1" | c2c hook --client claude; }
	hook SessionStart; hook UserPromptSubmit; c2c register birch
	c2c send birch "the tests are green" --from amber >&2
	`

// moves lead the session's hooks and commands out of its project, as a client does that follows cd,
// or that its agent has moved.
var changes = map[string]string{
	"into a nested repository":    "mkdir -p vendor/lib; cd vendor/lib; git init -q; git remote add origin https://h.org/lib.git",
	"out of every repository":     "mkdir ../empty; cd ../empty",
	"the remote is added":         "git remote add origin https://h.org/shop.git",
	"the remote is changed":       "git remote add origin https://h.org/shop.git; git remote set-url origin https://h.org/other.git",
	"the folder is renamed":       "cd ..; mv shop store; cd store",
	"the folder is removed":       "cd ..; mkdir gone; cd gone; rmdir ../gone; rm -rf ../shop",
	"another project has a birch": "mkdir ../docs; cd ../docs; git init -q; env -u CLAUDE_PID -u CLAUDE_CODE_SESSION_ID C2C_MCP_BROKER_ROOT=$(ls -d ~/.c2c/repos/*/broker | sed s,/broker,x/broker,) c2c register --session-id x birch",
}

func TestARunningSessionKeepsItsRoot(t *testing.T) {
	for name, move := range changes {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			out := s.want(asClaude + move + `
				echo "HOOK $(hook PostToolUse | tr -d '\n')"
				c2c whoami
				c2c send amber done >&2
				c2c list --json
				c2c rooms --json`)
			if _, mail, _ := strings.Cut(out, "HOOK "); !strings.Contains(strings.SplitN(mail, "\n", 2)[0], "the tests are green") {
				t.Errorf("the hook brings no mail: %s", out)
			}
			if !strings.Contains(out, "\nbirch ") || !strings.Contains(out, `"alias": "amber"`) {
				t.Errorf("its shell is another session: %s", out)
			}
			roots, _ := filepath.Glob(filepath.Join(s.home, ".c2c", "repos", "*", "broker", "registry.json"))
			if want := 1 + strings.Count(move, "--session-id x"); len(roots) != want {
				t.Errorf("there are %d roots: %q", len(roots), roots)
			}
		})
	}
}

// The client has ended: who opens its conversation in another project wants it there.
func TestASessionThatHasEndedGoesWhereItIsOpened(t *testing.T) {
	s := newShell(t)
	s.want(asClaude)
	s.want(`unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID
		mkdir docs && git init -q docs && cd docs
		export CLAUDE_PID=$$ CLAUDE_CODE_SESSION_ID=u1
		printf '{"hook_event_name":"SessionStart","session_id":"u1"}' | c2c hook --client claude; true`)
	roots, _ := filepath.Glob(filepath.Join(s.home, ".c2c", "repos", "*", "broker"))
	if len(roots) != 2 {
		t.Errorf("roots: %q", roots)
	}
	pointer, err := os.ReadFile(filepath.Join(s.home, ".c2c", "pointers", "u1"))
	if err != nil || !strings.Contains(s.want("cd docs; unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID; c2c list --all --json"), filepath.Base(strings.SplitN(string(pointer), "\n", 2)[0])) {
		t.Errorf("its pointer: %s, %v", pointer, err)
	}
}
