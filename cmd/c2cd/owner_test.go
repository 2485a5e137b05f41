package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// refused runs a script that must fail with some words.
func (s shell) refused(script, says string) {
	s.t.Helper()
	if out, err := s.command(script).CombinedOutput(); err == nil || !strings.Contains(string(out), says) {
		s.t.Errorf("%s: %v: %s; want %q", script, err, out, says)
	}
}

// A name may change hands while its first owner runs.
func TestStartHandsOnTheSessionAndNotItsName(t *testing.T) {
	s := newShell(t)
	s.want("c2c register coral --session-id s-1")
	out := s.want(`c2c start --alias coral sh -- -c '
		echo env=$C2C_MCP_SESSION_ID
		c2c register dune
		C2C_MCP_SESSION_ID=other c2c register coral
		C2C_MCP_SESSION_ID=birch c2c send coral for-coral
		C2C_MCP_SESSION_ID=birch c2c send dune for-dune
		c2c poll-inbox'`)
	if !strings.Contains(out, "env=s-1\n") || !strings.Contains(out, "for-dune") || strings.Contains(out, "\nfor-coral") {
		t.Error(out)
	}
	if out := s.want("C2C_MCP_SESSION_ID=other c2c poll-inbox"); !strings.Contains(out, "for-coral") {
		t.Errorf("who has the name now has %s", out)
	}
}

func TestStartComesBackToItsMailbox(t *testing.T) {
	s := newShell(t)
	start := func(script string) string {
		t.Helper()
		return s.want("c2c start --alias elm sh -- -c '" + script + "'")
	}
	id := start("echo $C2C_MCP_SESSION_ID")
	if again := start("echo $C2C_MCP_SESSION_ID"); again != id {
		t.Errorf("session %q, then %q", id, again)
	}
	s.want("c2c sweep --grace 0s")
	if again := start("echo $C2C_MCP_SESSION_ID; c2c register fir >&2"); !strings.HasPrefix(again, id) {
		t.Errorf("swept: session %q, then %q", id, again)
	}
	if other := start("echo $C2C_MCP_SESSION_ID"); strings.HasPrefix(other, id) {
		t.Errorf("the mailbox of fir is %q for elm too", other)
	}
	s.refused("c2c start --alias amber sh -- -c 'c2c start --alias amber sh -- || :; exit 1'", `session "amber" is alive already, or may be (process `)
}

// In the folder of another project the alias is not there: its folder is said.
func TestAnAliasOfAnotherProjectIsSaidToBeThere(t *testing.T) {
	s := newShell(t)
	s.want(`unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID
		mkdir shop docs && git init -q shop && git init -q docs
		cd docs && c2c register --session-id script script`)
	out := s.want(`unset C2C_MCP_BROKER_ROOT C2C_MCP_SESSION_ID
		cd shop && c2c start --alias coral sh -- -c '
			unset C2C_MCP_SESSION_ID
			(cd ../docs
			for verb in "send coral hi" "send Coral hi --json" "ask coral hi"; do c2c $verb --from script 2>&1; done
			c2c peek-inbox --from coral 2>&1)
			cd ../docs && c2c send coral hi --from script 2>&1
			true'`)
	if n := strings.Count(out, "oral is in ~/shop, another project: write to "); n != 5 { // the last time its client is in docs, too
		t.Errorf("%d times in %s", n, out)
	}
}

func TestASessionIDInTheEnvironmentIsNoAlias(t *testing.T) {
	s := newShell(t)
	s.want("c2c register ghost --session-id s-1; c2c send ghost for-s-1")
	s.refused("export C2C_MCP_SESSION_ID=ghost; c2c poll-inbox", "takes a session id")
	if out := s.want("export C2C_MCP_SESSION_ID=ghost; c2c register >&2; c2c poll-inbox; c2c whoami --json"); strings.Contains(out, "for-s-1") ||
		!strings.Contains(out, `"session_id": "ghost"`) {
		t.Error(out)
	}
}

func TestAPersonsMailboxIsNobodyElses(t *testing.T) {
	s := newShell(t)
	person := func(script string) string {
		t.Helper()
		out, err := s.atTerminal("unset C2C_MCP_SESSION_ID; " + script)
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return out
	}
	id := fmt.Sprintf("person-%d", os.Getuid())
	if out := person("export USER=amber; c2c poll-inbox"); strings.Contains(out, "before") {
		t.Errorf("a login name drains the agent's mail: %s", out)
	}
	if out := person("export USER=amber; c2c send birch hello --json"); !strings.Contains(out, `"from_alias": "amber-2"`) {
		t.Errorf("sent as %s", out)
	}
	if out := person("c2c register amy; c2c send birch again --json"); !strings.Contains(out, "amy (session "+id+")") ||
		!strings.Contains(out, `"from_alias": "amy"`) {
		t.Errorf("registered as %s", out)
	}
	s.refused("c2c start --alias Amy sh -- -c true", `alias "amy" is the name of a person here, under which agents write to them; "Amy-2" is free`)
	if out := s.want("c2c list | grep amy"); strings.Fields(out)[1] != "person" {
		t.Errorf("listed as %s", out)
	}
	if out := s.want("unset C2C_MCP_SESSION_ID; CLAUDE_CODE_SESSION_ID=uuid-1 c2c send birch hello --json"); strings.Contains(out, `"amy"`) {
		t.Errorf("an agent's shell sends as %s", out)
	}
	s.want("c2c send amy for-amy")
	s.refused("unset C2C_MCP_SESSION_ID; c2c poll-inbox", "add --session-id NAME") // nobody's child, without a terminal
	if out := s.want("unset C2C_MCP_SESSION_ID; c2c send birch done --from amy --json"); !strings.Contains(out, `"amy"`) {
		t.Errorf("a script sends as %s", out)
	}
	for script, says := range map[string]string{
		"C2C_MCP_SESSION_ID=" + id + " c2c poll-inbox": "no agent may use it",
		"c2c poll-inbox --session-id amy":              "person",
		"c2c send amber hello --from amy":              "person",
		"c2c register x --session-id " + id:            "person",
		"c2c register " + id:                           "reserved",
		"c2c register amy":                             "is the name of a person here",
		"c2c start --alias amy sh --":                  "amy",
		"C2C_MCP_CLIENT_TYPE=claude C2C_MCP_SESSION_ID=" + id + ` c2c hook <<<'{"hook_event_name":"Stop","session_id":"u"}' 2>&1; false`: "person",
	} {
		s.refused(script, says)
	}
	if out := s.want("unset C2C_MCP_SESSION_ID; c2c sweep --grace 0s; c2c peek-inbox --session-id amy"); !strings.Contains(out, "for-amy") {
		t.Errorf("the person has %s", out)
	}
}

func TestWithoutAWorkingDirectoryNoCommandGuessesTheRoot(t *testing.T) {
	s := newShell(t)
	const gone = "mkdir gone; cd gone; rmdir ../gone; "
	s.refused(gone+"unset C2C_MCP_BROKER_ROOT; c2c list", "working directory")
	s.refused(gone+"export C2C_MCP_BROKER_ROOT=root; c2c list", "working directory")
	s.want(gone + "c2c list")
}
