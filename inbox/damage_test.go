package inbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

// A reader died between the archive and the removal, or could not archive: what
// it had is long and does not wait, and what came later is seen behind it.
func TestWhatWaitsIsSeenBehindWhatWasRead(t *testing.T) {
	for _, done := range []bool{false, true} {
		m, _ := newBox(t)
		deliver(t, m, letter("long"+strings.Repeat("x", 100_000)))
		l := lease(t, m)
		if err := m.archive.Append(t.Context(), "test", l.Messages, 0); err != nil {
			t.Fatal(err)
		}
		if done {
			if err := l.markRead(func(mail.Message) bool { return true }); err != nil {
				t.Fatal(err)
			}
		}
		l.Release()
		deliver(t, m, letter("later"))
		if head, err := m.Head(t.Context(), 100); err != nil || bodies(head) != "later" {
			t.Errorf("done %v: head %.40q, %v", done, bodies(head), err)
		}
	}
}

func TestWhoHadWhatStillWaits(t *testing.T) {
	m, _ := newBox(t)
	taken := func(what, by string, want bool) {
		t.Helper()
		if some, err := m.TakenBy(by); err != nil || some != want {
			t.Errorf("%s: taken by %s is %v, %v", what, by, some, err)
		}
	}
	deliver(t, m, letter("one"))
	taken("new", "test", false)
	l := lease(t, m)
	taken("leased", "test", true)
	taken("leased", "another", false)
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	taken("given back", "test", true)
	l = lease(t, m)
	if err := l.markRead(func(mail.Message) bool { return true }); err != nil { // the archive had no room
		t.Fatal(err)
	}
	taken("acknowledged", "test", false)
	l.Release()
}

func corrupt(t *testing.T, root, pattern string) []string {
	t.Helper()
	copies, err := filepath.Glob(filepath.Join(root, pattern+".corrupt-*"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, name := range copies {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, string(data))
	}
	return kept
}

func plantFile(t *testing.T, root, name, text string) string {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodLine = `{"from_alias":"b","to_alias":"a","content":"ok","ts":1.5,"message_id":"ok-1"}`

// The reader had what could be read, and the archive could not be written then.
func TestADamagedFileIsKeptThoughItsAckWaited(t *testing.T) {
	m, root := newBox(t)
	file := "[\n" + goodLine + ",\n{\"from_al"
	plantFile(t, root, "amber.inbox.json", file)
	l := lease(t, m)
	obstacle := plantFile(t, root, "archive", "not a directory")
	if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
		t.Errorf("ack: %v", err)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	if again := lease(t, m); len(again.Messages) != 0 {
		t.Errorf("handed over again: %q", bodies(again.Messages))
	}
	if kept := corrupt(t, root, "amber.inbox.json"); len(kept) != 1 || kept[0] != file {
		t.Errorf("kept aside %q", kept)
	}
	if h, err := m.archive.History(t.Context(), 9); err != nil || len(h) != 1 || h[0].Content != "ok" {
		t.Errorf("history %+v, %v", h, err)
	}
}

// A reader died, and what it had was damaged: the rest is handed over once, by part or in full.
func TestADamagedLeaseKeepsWhatIsReadable(t *testing.T) {
	for _, part := range []bool{false, true} {
		m, root := newBox(t)
		deliver(t, m, letter("one"), letter("two"), letter("three"))
		lease(t, m).Release()
		names, err := filepath.Glob(filepath.Join(root, "amber.lease", "*.json"))
		if err != nil || len(names) != 1 {
			t.Fatalf("leased %q, %v", names, err)
		}
		data, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		file := strings.Replace(string(data), `"content":"two"`, `"content":"tw`+"\x00", 1)
		if err := os.WriteFile(names[0], []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := peek(t, m); got != "one three" {
			t.Errorf("peek %q", got)
		}
		l := lease(t, m)
		if bodies(l.Messages) != "one three" {
			t.Errorf("leased %q", bodies(l.Messages))
		}
		ids, left := []string{l.Messages[0].ID, l.Messages[1].ID}, ""
		if part {
			ids, left = ids[:1], "three"
		}
		if err := l.Ack(t.Context(), ids...); err != nil {
			t.Errorf("ack: %v", err)
		}
		if got := peek(t, m); got != left {
			t.Errorf("left %q, want %q", got, left)
		}
		if kept := corrupt(t, root, "amber.inbox.json"); len(kept) != 1 || kept[0] != file {
			t.Errorf("kept aside %q", kept)
		}
	}
}

func TestADamagedArchiveIsStillReadAndWritten(t *testing.T) {
	record := func(id, body string) string {
		a := ArchiveRecord{Message: letter(body), DrainedAt: 5, DrainedBy: "test", SessionID: "amber"}
		a.ID, a.TS = id, 4
		line, _ := a.MarshalJSON()
		return string(line) + "\n"
	}
	for name, file := range map[string]string{
		"torn":           record("a-1", "one") + record("a-2", "two") + record("a-3", "lost")[:40],
		"garbage within": record("a-1", "one") + "\x00\x00garbage{\n\n[]\n{}\n" + record("a-2", "two"),
		"torn within":    record("a-1", "one") + record("a-3", "lost")[:40] + "\n" + record("a-2", "two"),
	} {
		m, root := newBox(t)
		plantFile(t, root, "archive/amber.jsonl", file)
		for id, want := range map[string]string{"a-1": Archived, "a-2": Archived, "a-3": ""} {
			if st, err := findOne(t, m, id); err != nil || st.Where != want {
				t.Errorf("%s: found %s as %+v, %v", name, id, st, err)
			}
		}
		msg := deliver(t, m, letter("three"))[0]
		if _, err := drain(t.Context(), m, "test"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if st, err := findOne(t, m, msg.ID); err != nil || st.Where != Archived {
			t.Errorf("%s: found the new one as %+v, %v", name, st, err)
		}
		h, err := m.archive.History(t.Context(), 9)
		var got []mail.Message
		for _, a := range h {
			got = append(got, a.Message)
		}
		if err != nil || bodies(got) != "three two one" {
			t.Errorf("%s: history %q, %v", name, bodies(got), err)
		}
		if data, err := os.ReadFile(filepath.Join(root, "archive", "amber.jsonl")); err != nil || !strings.HasPrefix(string(data), file) {
			t.Errorf("%s: the archive lost something: %q, %v", name, data, err)
		}
	}
}

// A session or a reader may be called like the new content of a file.
func TestNoNameIsTakenForATemporaryFile(t *testing.T) {
	m, root := newBox(t)
	m, err := Open(m.root, "a.tmp.b", Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"one", "two"} {
		plantFile(t, root, "a.tmp.b.inbox.json", `[{"from_alias":"`+body)
		deliver(t, m, letter(body))
		l, err := m.Lease(t.Context(), "r.tmp.c", 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		l.Release() // it was killed
		if got, err := drain(t.Context(), m, "hook"); err != nil || bodies(got) != body {
			t.Errorf("drained %q, %v", bodies(got), err)
		}
	}
	plantFile(t, root, "a.tmp.b.inbox.json", `[{"from_alias":"`)
	deliver(t, m, letter("three"))
	if kept := corrupt(t, root, "a.tmp.b.inbox.json"); len(kept) != 3 {
		t.Errorf("kept %q", kept)
	}
}
