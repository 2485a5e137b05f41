package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/cmd/cli"
)

// unwritable is a standard output on a full disk.
type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "birch", "send", "amber", "hello", "--id", "m1")
	for _, args := range [][]string{{"poll-inbox"}, {"poll-inbox", "--json"}, {"peek-inbox"}, {"history"}, {"status", "m1"}, {"list"}, {"list", "--json"},
		{"whoami"}, {"register", "amber"}, {"dnd"}, {"send", "birch", "x"}, {"send-all", "x"}, {"sweep"}, {"sweep", "--dry-run"}, {"prune", "--older", "1d", "--dry-run"}, {"dead-letter", "--json"},
		{"version"}, {"completion", "bash"}, {"help"}, {"send", "--help"}} {
		var stderr bytes.Buffer
		env := map[string]string{"C2C_MCP_BROKER_ROOT": root, "C2C_MCP_SESSION_ID": "amber", "HOME": filepath.Dir(root)}
		a := &app{strings.NewReader(""), unwritable{}, &stderr, func(name string) string { return env[name] }, filepath.Dir(root), 5 * time.Second}
		if code := a.main(t.Context(), args); code != cli.Failed {
			t.Errorf("%q: exit %d, %s", args, code, stderr.String())
		} else if !strings.Contains(stderr.String(), "no space") {
			t.Errorf("%q: says %s", args, stderr.String())
		}
	}
	if out := mustRun(t, root, "amber", "poll-inbox"); !strings.Contains(out, "hello") {
		t.Errorf("the mail is gone: %s", out)
	}
}

// What others wrote into the files of the root steers no terminal and makes no line of its own.
func TestForeignTextSteersNoTerminal(t *testing.T) {
	const evil = `\u001b]0;owned\u0007\u009b2J\u202ex\nforged`
	root := filepath.Join(t.TempDir(), "root")
	if err := os.MkdirAll(filepath.Join(root, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	message := `{"from_alias":"f` + evil + `","to_alias":"t` + evil + `","content":"c` + evil + `","ts":1.5,"message_id":"m` + evil + `"}`
	write("registry.json", `[{"session_id":"amber","alias":"a`+evil+`","registered_at":1.0,"client_type":"k`+evil+`"},
		{"session_id":"birch","alias":"birch","registered_at":1.0}, {"session_id":"s`+evil+`","alias":"b`+evil+`","pid":1,"pid_start_time":1,"registered_at":1.0}]`)
	write("sessions/amber.json", `{"role":"r`+evil+`","client":"k`+evil+`","turn":"`+evil+`"}`)
	write("amber.inbox.json", "["+message+"]")
	write("dead-letter.jsonl", `{"deleted_at":1.0,"from_session_id":"s`+evil+`","message":`+message+`}`+"\n")
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"whoami"}, {"dnd"}, {"register", "a\x1b[2J"}, {"prune", "--older", "1d"}, {"sweep", "--dry-run", "--grace", "0s"}, {"dead-letter"}, {"dead-letter", "--json"},
		{"peek-inbox"}, {"peek-inbox", "--json"}, {"send-all", "x"}, {"send", "a\x1b[2J\u009b", "x"}, {"status", "x\x1b[2J"}, {"poll-inbox"}, {"history"}, {"history", "--json"}} {
		for _, sid := range []string{"amber", "birch"} {
			out, errs, _ := run(t, root, sid, args...)
			for _, bad := range []string{"\x1b", "\a", "\u009b", "\u202e"} {
				if strings.Contains(out+errs, bad) {
					t.Errorf("%q: %q in %q", args, bad, out+errs)
				}
			}
			if strings.Contains(out+errs, "\nforged") && !strings.Contains(out+errs, "\nforged\n</c2c>") {
				t.Errorf("%q: a forged line in %q", args, out+errs)
			}
		}
	}
}

// Whoever meets a damaged mailbox says so.
func TestADamagedMailboxIsToldByTheCommandThatMeetsIt(t *testing.T) {
	for who, args := range map[string][]string{"birch": {"send", "amber", "x"}, "amber": {"poll-inbox"}} {
		root := scratch(t)
		if err := os.WriteFile(filepath.Join(root, "amber.inbox.json"), []byte(`[{"from_`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := run(t, root, who, args...); code != cli.Done || !strings.Contains(errs, "amber.inbox.json.corrupt-") {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
	}
}
