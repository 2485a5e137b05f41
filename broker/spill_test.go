package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker/deadlines"
	"c2c/broker/explain"
	"c2c/broker/notice"
	"c2c/inbox"
)

// spilled is what version 96fdd19 has put behind a full inbox.
func (w *world) spilled(sid, body string) {
	w.t.Helper()
	line := `{"message":{"from_alias":"amber","to_alias":"birch","content":"` + body + `","ts":1.5,"message_id":"` + body + `"},"n":1}` + "\n"
	if err := os.WriteFile(filepath.Join(w.Root(), sid+".spill.jsonl"), []byte(line), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// The first command finds it, and so does each process that stays; an old version that still runs leaves more.
func TestMailThatAnOldVersionHasLeftIsTaken(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(w *world, k *deadlines.Checker){
		"a command": func(w *world, _ *deadlines.Checker) {
			if err := deadlines.CheckOnce(w.t.Context(), w.Registry); err != nil {
				w.t.Fatal(err)
			}
		},
		"a process that stays": func(w *world, k *deadlines.Checker) { w.look(k) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, birch := pair(t)
			k := deadlines.NewChecker(w.Registry)
			for _, body := range []string{"one", "two"} {
				w.spilled(birch.ID, body)
				found := explain.Check(t.Context(), w.Registry, func(string) bool { return true })
				said := false
				for _, f := range found {
					said = said || strings.HasSuffix(f.Path, birch.ID+".spill.jsonl")
				}
				if !said {
					t.Errorf("doctor does not tell: %v", found)
				}
				w.pass(lookEvery + time.Second)
				look(w, k)
				if names, err := w.Dir().Names(); err != nil || len(inbox.Spills(names)) > 0 {
					t.Errorf("left in %q, %v", names, err)
				}
			}
			w.wantMail(birch.ID, "one", "two")
		})
	}
}

// A session that is forgotten has no mailbox to come back to: then it is a dead letter, like other mail.
func TestMailThatAnOldVersionHasLeftForNobodyIsADeadLetter(t *testing.T) {
	t.Parallel()
	w, _, _ := pair(t)
	w.spilled("gone", "precious")
	w.look(deadlines.NewChecker(w.Registry))
	w.pass(200 * 24 * time.Hour)
	w.tidied()
	if dead, err := notice.DeadLetters(t.Context(), w.Registry, 0); err != nil || len(dead) != 1 || dead[0].Message.Content != "precious" {
		t.Errorf("dead letters %v, %v", dead, err)
	}
}
