package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	c := newClinic(t)
	c.session("gem", "amber", 0) // without any, doctor would fail anyway
	for _, args := range [][]string{{"doctor"}, {"wake", "status"}} {
		var stderr bytes.Buffer
		a := &app{stdout: unwritable{}, stderr: &stderr, cwd: c.home, c2c: c.c2c, getenv: func(name string) string {
			return map[string]string{"HOME": c.home, "C2C_MCP_BROKER_ROOT": c.b.Root()}[name]
		}}
		if code := a.main(t.Context(), args); code != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: exit %d, %s", args, code, stderr.String())
		}
	}
}

func TestForeignTextSteersNoTerminal(t *testing.T) {
	const evil = `\u001b]0;owned\u0007\u009b2J\u202e`
	c := newClinic(t)
	registry := `[{"session_id":"amber","alias":"a` + evil + `","client_type":"` + evil + `","registered_at":1.0}]`
	if err := os.WriteFile(filepath.Join(c.b.Root(), "registry.json"), []byte(registry), 0o600); err != nil {
		t.Fatal(err)
	}
	inbox := `[{"from_alias":"` + evil + `","to_alias":"x","content":"x","ts":1.5,"message_id":"` + evil + `"}]`
	if err := os.WriteFile(filepath.Join(c.b.Root(), "amber.inbox.json"), []byte(inbox), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}, {"wake", "status"}, {"wake", "status", "--json"}, {"wake", "attach", "a\x1b[2J"}} {
		if out := c.run(args...); strings.ContainsAny(out, "\x1b\a\u009b\u202e") {
			t.Errorf("%q: %q", args, out)
		}
	}
}
