package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"c2c/inbox/filelock"
	"c2c/inbox/mail"
)

// spillLines is what version 96fdd19 appends, behind before messages.
func spillLines(before int, msgs ...mail.Message) (text string) {
	for i, msg := range msgs {
		text += string(msg.AppendFields([]byte(`{"message":`), "{")) + fmt.Sprintf(`},"n":%d}`, before+i+1) + "\n"
	}
	return text
}

// spillBodies numbers messages; each has what a spill could be mistaken by.
func spilledMail(from, count int) (msgs []mail.Message) {
	for i := range count {
		msg := letter(fmt.Sprintf("s%d", from+i))
		msg.ID, msg.TS = fmt.Sprintf("id-%d", from+i), 1.5
		msg.Extra = []mail.Field{{Name: "other", Value: []byte(`{"message":{"from_alias":"x","to_alias":"y","content":"no mail"},"n":1}`)}}
		msgs = append(msgs, msg)
	}
	return msgs
}

func spillOf(t *testing.T, root string) (left []string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(root, "*spill*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestWhatAnOldVersionHasSpilledIsRead(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, letter("first"))
	plantFile(t, root, "amber.spill.jsonl", spillLines(1, spilledMail(0, 3)...))
	if n, err := m.TakeSpill(t.Context()); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if left := spillOf(t, root); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if n, err := m.TakeSpill(t.Context()); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	deliver(t, m, letter("last"))
	if got := peek(t, m); got != "first s0 s1 s2 last" {
		t.Errorf("waiting %q", got)
	}
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	if got := archivedBodies(t, m); got != "first s0 s1 s2 last " {
		t.Errorf("archived %q", got)
	}
	if copies := corrupt(t, root, "*"); len(copies) > 0 {
		t.Errorf("taken for damaged: %q", copies)
	}
}

// Killed after each step of it, or of a reader of the old version, and with what an older version of ours has made of it since.
func TestASpillIsTakenOnceWhereverSomebodyIsKilled(t *testing.T) {
	lines := spillLines(1, spilledMail(0, 3)...)
	for step, plant := range map[string]func(t *testing.T, m *Mailbox, root string){
		"it was synced": func(t *testing.T, m *Mailbox, root string) { plantFile(t, root, "amber.spill.jsonl", lines) },
		"the inbox has moved": func(t *testing.T, m *Mailbox, root string) {
			plantFile(t, root, "amber.spill.jsonl", lines)
			if err := lease(t, m).close(); err != nil {
				t.Fatal(err)
			}
		},
		"it has moved": func(t *testing.T, m *Mailbox, root string) {
			if err := lease(t, m).close(); err != nil {
				t.Fatal(err)
			}
			plantFile(t, root, fmt.Sprintf("amber.lease/00000002-3-%d.json", len(lines)), lines)
		},
		"an old reader had it": func(t *testing.T, m *Mailbox, root string) {
			if err := lease(t, m).close(); err != nil {
				t.Fatal(err)
			}
			plantFile(t, root, "amber.lease/02097152-3-0-1700000000000-4711-hook.jsonl", lines)
		},
		"an old reader had a part of it": func(t *testing.T, m *Mailbox, root string) {
			if err := lease(t, m).close(); err != nil {
				t.Fatal(err)
			}
			plantFile(t, root, "amber.lease/02097152-2-0-1700000000000-4711-hook.jsonl", spillLines(1, spilledMail(0, 2)...))
			plantFile(t, root, "amber.spill.jsonl", spillLines(3, spilledMail(2, 1)...))
		},
	} {
		t.Run(step, func(t *testing.T) {
			m, root := newBox(t)
			deliver(t, m, letter("first"))
			plant(t, m, root)
			there, err := m.root.NameSet()
			if err != nil {
				t.Fatal(err)
			}
			boxes, err := OpenBacklogs(m.root, there)
			if err != nil {
				t.Fatal(err)
			}
			defer boxes.Close()
			if b, err := boxes.Of(m.sid); err != nil || b.Oldest.IsZero() {
				t.Errorf("backlog %+v, %v", b, err)
			}
			if _, err := m.TakeSpill(t.Context()); err != nil {
				t.Fatal(err)
			}
			deliver(t, m, letter("last"))
			msgs, err := drain(t.Context(), m, "test")
			if got := bodies(msgs); got != "first s0 s1 s2 last" || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
			if msgs, err = drain(t.Context(), m, "test"); len(msgs) > 0 || err != nil {
				t.Errorf("read again %q, %v", bodies(msgs), err)
			}
			if left := numbered(t, root); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// A live reader of the old version has its part locked.
func TestWhatALiveOldReaderHasIsLeftToIt(t *testing.T) {
	m, root := newBox(t)
	path := plantFile(t, root, "amber.lease/02097152-1-0-1700000000000-4711-hook.jsonl", spillLines(0, spilledMail(0, 1)...))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if free, err := filelock.TryFile(f); !free || err != nil {
		t.Fatal(free, err)
	}
	if msgs, err := drain(t.Context(), m, "test"); len(msgs) > 0 || err != nil {
		t.Errorf("read %q, %v", bodies(msgs), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if msgs, err := drain(t.Context(), m, "test"); bodies(msgs) != "s0" || err != nil {
		t.Errorf("read %q, %v", bodies(msgs), err)
	}
}

// What the old version had acknowledged on a full disk goes to the archive alone.
func TestWhatAnOldReaderHasAcknowledgedIsArchived(t *testing.T) {
	m, root := newBox(t)
	plantFile(t, root, "amber.lease/done-02097152-1-0-1700000000000-4711-hook.jsonl", spillLines(0, spilledMail(0, 1)...))
	if msgs, err := drain(t.Context(), m, "test"); len(msgs) > 0 || err != nil {
		t.Errorf("read %q, %v", bodies(msgs), err)
	}
	if got := archivedBodies(t, m); got != "s0 " {
		t.Errorf("archived %q", got)
	}
}

// The last line was torn by a power cut, so its sender was told nothing; what can be read is handed over, and a copy kept.
func TestATornSpillIsKeptAside(t *testing.T) {
	m, root := newBox(t)
	lines := spillLines(0, spilledMail(0, 3)...)
	plantFile(t, root, "amber.spill.jsonl", lines[:len(lines)-20])
	if n, err := m.TakeSpill(t.Context()); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if got := peek(t, m); got != "s0 s1" {
		t.Errorf("waiting %q", got)
	}
	if copies := corrupt(t, root, "amber.inbox.json"); len(copies) != 1 || !strings.HasPrefix(lines, copies[0]) {
		t.Errorf("copies %q", copies)
	}
	plantFile(t, root, "amber.spill.jsonl", `{"message":`)
	if n, err := m.TakeSpill(t.Context()); n != 0 || err != nil || len(spillOf(t, root)) > 0 {
		t.Error(n, err, spillOf(t, root))
	}
}

// The old version still runs and appends, under the lock that it knows, while others take and read.
func TestAnOldSenderMayAppendMeanwhile(t *testing.T) {
	m, root := newBox(t)
	const all = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range all {
			lk, err := m.lock(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			err = m.root.Append(m.spillName(), []byte(spillLines(i, spilledMail(i, 1)...)))
			if rerr := lk.Release(); err != nil || rerr != nil {
				t.Error(err, rerr)
				return
			}
		}
	})
	got := map[string]int{}
	read := func() {
		if _, err := m.TakeSpill(t.Context()); err != nil {
			t.Error(err)
		}
		msgs, err := drain(t.Context(), m, "test")
		if err != nil {
			t.Error(err)
		}
		for _, msg := range msgs {
			got[msg.Content]++
		}
	}
	for range 40 {
		read()
	}
	wg.Wait()
	read()
	for i := range all {
		if n := got[fmt.Sprint("s", i)]; n != 1 {
			t.Errorf("s%d was read %d times", i, n)
		}
	}
	if left := append(spillOf(t, root), numbered(t, root)...); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func FuzzSpill(f *testing.F) {
	lines := spillLines(0, spilledMail(0, 3)...)
	for _, s := range []string{lines, lines[:len(lines)-9], `{"message":`, `{"message":{}}` + "\n", `{"message":7}` + "\n", "{\"message\":null}\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		msgs, damaged := decodeSpill(file)
		again, broken := decode(encode(msgs))
		if len(again) != len(msgs) || broken {
			t.Errorf("%d messages are written as %d, %v", len(msgs), len(again), broken)
		}
		if isSpill(file) && len(msgs) == 0 && !damaged {
			t.Error("nothing is there, and nothing is damaged")
		}
	})
}

func FuzzOldLeaseName(f *testing.F) {
	for _, s := range []string{"02097152-3-0-1700000000000-4711-hook.jsonl", "done-1-2-3-4-5-x.jsonl", "-1-2-3-4-5-x.jsonl", "1-2-3-4-5-../x.jsonl", "1-2.jsonl"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		next, ok := oldLeaseName(strings.TrimSuffix(name, ".jsonl"), 9)
		if ok && strings.ContainsAny(next, "/\x00") {
			t.Errorf("%q becomes %q", name, next)
		}
	})
}
