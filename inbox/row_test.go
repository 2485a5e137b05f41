package inbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

// body is one that a test can tell by its first word.
func body(word string, size int) mail.Message {
	return letter(word + strings.Repeat("x", size-len(word)))
}

// words are the first characters of the bodies.
func words(msgs []mail.Message) string {
	var all []string
	for _, msg := range msgs {
		all = append(all, strings.TrimRight(msg.Content, "x"))
	}
	return strings.Join(all, " ")
}

func peeked(t *testing.T, m *Mailbox) string {
	t.Helper()
	msgs, err := m.Peek(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return words(msgs)
}

func TestASenderRotatesAFullInbox(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, body("a", 21_000), body("b", 21_000))
	if rows := numbered(t, root); len(rows) > 0 {
		t.Fatalf("numbered %q", rows)
	}
	full, err := os.Stat(filepath.Join(root, "amber.inbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, m, body("c", 21_000))
	deliver(t, m, body("d", 100_000))
	deliver(t, m, letter("e"))
	deliver(t, m, letter("f"))
	rows := numbered(t, root)
	if len(rows) != 3 || rows[0] != fmt.Sprintf("00000001-2-%d.json", full.Size()) ||
		!strings.HasPrefix(rows[1], "00000002-1-21") || !strings.HasPrefix(rows[2], "00000003-1-100") {
		t.Errorf("numbered %q", rows)
	}
	file, err := os.ReadFile(filepath.Join(root, "amber.inbox.json"))
	if msgs, _ := decode(file); err != nil || words(msgs) != "e f" {
		t.Errorf("the inbox has %q, %v", words(msgs), err)
	}
	if got := peeked(t, m); got != "a b c d e f" {
		t.Errorf("waiting %q", got)
	}
	if got := words(lease(t, m).Messages); got != "a b c d e f" {
		t.Errorf("leased %q", got)
	}
}

// The names say how many wait: nothing else is asked.
func TestASendCountsWhatTheNamesSay(t *testing.T) {
	for name, want := range map[string]error{
		"00000001-20000-5.json":                        ErrFull,
		"00000001-19999-5.json":                        nil,
		"00000001-19999-5-7-1700000000000-hook.json":   nil,
		"00000001-20000-5-7-1700000000000-hook.json":   ErrFull,
		"00000001-1-67108864.json":                     ErrFull,
		"done-00000001-20000-5-7-1700000000-hook.json": nil, // was read
	} {
		m, root := newBox(t)
		plantFile(t, root, "amber.lease/"+name, "")
		if _, err := m.Deliver(t.Context(), letter("x")); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPartThatIsGivenBackKeepsItsPlace(t *testing.T) {
	m, root := newBox(t)
	stored := deliver(t, m, body("a", 100), body("b", 100))
	stored = append(stored, deliver(t, m, body("c", 70_000))...)
	deliver(t, m, body("d", 61_000))
	deliver(t, m, body("e", 1000))
	l := lease(t, m)
	if err := l.Ack(t.Context(), stored[0].ID, stored[2].ID); err != nil {
		t.Fatal(err)
	}
	rows := numbered(t, root)
	if len(rows) != 3 || !strings.HasPrefix(rows[0], "00000001-1-") || !strings.HasPrefix(rows[1], "00000003-1-") || !strings.HasPrefix(rows[2], "00000004-1-") {
		t.Errorf("numbered %q", rows)
	}
	for _, name := range rows {
		info, err := os.Stat(filepath.Join(root, "amber.lease", name))
		if c, ok := parseMailFile(name); err != nil || !ok || c.bytes != info.Size() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if got := peeked(t, m); got != "b d e" {
		t.Errorf("waiting %q", got)
	}
}

func TestAnAckOfNothingGivesAllBack(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, letter("a"))
	if err := lease(t, m).Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := peek(t, m); got != "a" {
		t.Errorf("waiting %q", got)
	}
}

// wantOnePlace fails when a message stands in two files of a mailbox, or twice in one.
func wantOnePlace(t *testing.T, root string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "amber.lease", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, name := range append(names, filepath.Join(root, "amber.inbox.json")) {
		data, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		msgs, _ := decode(data)
		for _, msg := range msgs {
			if seen[msg.ID] != "" {
				t.Errorf("%s is in %s and in %s", words([]mail.Message{msg}), seen[msg.ID], name)
			}
			seen[msg.ID] = name
		}
	}
}

// A process is killed after each step of a rotation, a claim and an ack. What it had acknowledged
// is not offered again, the rest is, in order, and the archive has each message once.
func TestAKillAfterAnyStepLosesAndDoublesNothing(t *testing.T) {
	die := func(t *testing.T, l *Lease) {
		t.Helper()
		if err := l.close(); err != nil { // the kernel ends the locks, and nobody says anything
			t.Fatal(err)
		}
	}
	archived := func(t *testing.T, m *Mailbox) *Lease {
		t.Helper()
		l := lease(t, m)
		if err := m.archive.Append(t.Context(), "test", l.Messages[:1], l.since()); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for step, tc := range map[string]struct {
		do   func(*testing.T, *Mailbox)
		want string
	}{
		"rotated": {func(t *testing.T, m *Mailbox) {
			dir, err := m.root.Sub(m.LeaseName(), true)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			info, err := m.root.Stat(m.inboxName())
			if err != nil {
				t.Fatal(err)
			}
			if err := m.rotate(dir, mailFile{number: 3, count: 1, bytes: info.Size()}); err != nil {
				t.Fatal(err)
			}
		}, "a b c d"},
		"rotated, and the next inbox is being written": {func(t *testing.T, m *Mailbox) {
			dir, err := m.root.Sub(m.LeaseName(), true)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			info, err := m.root.Stat(m.inboxName())
			if err != nil {
				t.Fatal(err)
			}
			if err := m.root.Move(m.inboxName(), dir, mailFile{number: 3, count: 1, bytes: info.Size()}.name()); err != nil {
				t.Fatal(err)
			}
			plantFile(t, m.root.Path(), m.inboxName()+".tmp.c2c", "[\n{")
		}, "a b c d"},
		"claimed":  {func(t *testing.T, m *Mailbox) { die(t, lease(t, m)) }, "a b c d"},
		"archived": {func(t *testing.T, m *Mailbox) { die(t, archived(t, m)) }, "b c d"},
		"renamed": {func(t *testing.T, m *Mailbox) {
			l := archived(t, m)
			old := l.files[0].name()
			l.files[0].count, l.files[0].bytes = 1, 150
			if err := l.dir.Rename(old, l.files[0].name()); err != nil {
				t.Fatal(err)
			}
			die(t, l)
		}, "b c d"},
		"written, not in place": {func(t *testing.T, m *Mailbox) {
			l := archived(t, m)
			plantFile(t, m.root.Path(), "amber.lease/"+l.files[0].name()+".tmp.c2c", "[\n{")
			die(t, l)
		}, "b c d"},
		"written, and the lock file is not touched": {func(t *testing.T, m *Mailbox) {
			l := archived(t, m)
			if err := m.keepRest(t.Context(), l.files[0], func(msg mail.Message) bool { return msg.ID == l.Messages[0].ID }); err != nil {
				t.Fatal(err)
			}
			die(t, l)
		}, "b c d"},
		"removed": {func(t *testing.T, m *Mailbox) {
			l := lease(t, m)
			err := m.archive.Append(t.Context(), "test", l.Messages, l.since())
			if err = errors.Join(err, l.dir.Remove(l.files[0].name())); err != nil {
				t.Fatal(err)
			}
			die(t, l)
		}, ""},
	} {
		t.Run(step, func(t *testing.T) {
			m, root := newBox(t)
			deliver(t, m, body("a", 50), body("b", 50))
			deliver(t, m, body("c", 61_000))
			deliver(t, m, body("d", 50))
			tc.do(t, m)
			wantOnePlace(t, root)
			if got := peeked(t, m); got != tc.want {
				t.Errorf("waiting %q, want %q", got, tc.want)
			}
			deliver(t, m, body("e", 50))
			for range 5 { // each reader shows one message
				wantOnePlace(t, root)
				l, err := m.Lease(t.Context(), "test", 1)
				if err != nil {
					t.Fatal(err)
				}
				if len(l.Messages) > 0 {
					if err := l.Ack(t.Context(), l.Messages[0].ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			h, err := m.archive.History(t.Context(), 9)
			var read []mail.Message
			for _, a := range slices.Backward(h) {
				read = append(read, a.Message)
			}
			if err != nil || words(read) != "a b c d e" {
				t.Errorf("archived %q, %v", words(read), err)
			}
			if left := numbered(t, root); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// Hooks show a part of a long backlog, and each is killed somewhere in its ack.
func TestKilledHooksDoNotFillTheMailbox(t *testing.T) {
	m, _ := newBox(t)
	var all []mail.Message
	for i := range 100 {
		all = append(all, body(fmt.Sprint(i), 1000))
	}
	deliver(t, m, all...)
	left := len(all)
	for kill := 0; left > 70; kill++ {
		l, err := m.Lease(t.Context(), "hook", 5000)
		if err != nil {
			t.Fatal(err)
		}
		handed := func(msg mail.Message) bool { return msg.ID == l.Messages[0].ID }
		if err := m.archive.Append(t.Context(), "hook", l.Messages[:1], l.since()); err != nil {
			t.Fatal(err)
		}
		if kill%2 == 0 {
			if err := m.keepRest(t.Context(), l.files[0], handed); err != nil {
				t.Fatal(err)
			}
		}
		l.close()
		left--
	}
	m.most = left + 10
	for range 9 { // the last hook that was killed has archived one that its file's name still counts
		deliver(t, m, letter("x"))
	}
}
