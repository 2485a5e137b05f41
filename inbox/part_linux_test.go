//go:build linux

package inbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"c2c/e2e/namespace"
	"c2c/inbox/mail"
)

// mixed is a mailbox on a small disk: in one file there is mail that a reader is handed, an
// ephemeral message among it, and behind it mail that is kept back. With begun there is an archive,
// which may have room in its last block. room gives the disk space again, and later hands over what
// was kept back.
func mixed(t *testing.T, left int64, begun bool) (m *Mailbox, room, later func()) {
	t.Helper()
	m, dir := newDisk(t)
	now, held := time.Unix(1_800_000_000, 0), true
	m.now, m.held = func() time.Time { return now }, func(mail.Message) bool { return held }
	msgs := []mail.Message{letter("one"), letter("two"), letter("passing"), letter("three"), letter("held"), letter("slow")}
	msgs[4].Held, msgs[4].NotBefore = "birch", mail.Seconds(now.Add(mail.LongestHold))
	msgs[2].Ephemeral, msgs[5].NotBefore = true, mail.Seconds(now)+60
	if begun {
		deliver(t, m, letter("before"))
		if _, err := drain(t.Context(), m, "test"); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, m, msgs...)
	return m, fill(t, dir, left), func() { held, now = false, now.Add(mail.LongestHold) }
}

// Whatever a reader was handed is not handed over again, though the disk is full and mail behind it
// in the same file is kept back. Neither the archive nor the file with the rest can be written
// then.
func TestWhatWasReadOnAFullDiskIsNotHandedOverAgainBesideMailThatIsKeptBack(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	for _, left := range []int64{0, 4096, 8192, 12288} {
		for _, begun := range []bool{false, true} {
			m, room, later := mixed(t, left, begun)
			for i, want := range []string{"one two passing three", "", ""} {
				l := lease(t, m)
				if got := bodies(l.Messages); got != want {
					t.Errorf("%d bytes left, lease %d: %q, want %q", left, i+1, got, want)
				}
				if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
					t.Errorf("%d bytes left, ack %d: %v", left, i+1, err)
				}
				if got := peek(t, m); got != "" {
					t.Errorf("%d bytes left: waiting %q", left, got)
				}
				if all, err := m.PeekAll(t.Context()); err != nil || bodies(all) != "held slow" {
					t.Errorf("%d bytes left: kept back are %q, %v", left, bodies(all), err)
				}
			}
			later()
			l := lease(t, m)
			if got := bodies(l.Messages); got != "held slow" {
				t.Errorf("%d bytes left, later: %q", left, got)
			}
			if err := l.Release(); err != nil {
				t.Error(err)
			}
			room()
			if _, err := drain(t.Context(), m, "test"); err != nil {
				t.Error(err)
			}
			if some, err := m.Used(); some || err != nil {
				t.Errorf("something is left: %v, %v", some, err)
			}
			if got := archivedBodies(t, m); strings.TrimPrefix(got, "before ") != "one two three held slow " {
				t.Errorf("%d bytes left: the archive has %q", left, got)
			}
		}
	}
}

// The rest of a file that was read in part on a full disk can be read there, too: then there is
// nothing left but what is to be archived.
func TestAllOfAFileIsReadOnAFullDiskInTwoParts(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	m, room, later := mixed(t, 0, false)
	for _, want := range []string{"one two passing three", "held slow", ""} {
		msgs, err := drain(t.Context(), m, "test")
		if got := bodies(msgs); got != want || err != nil {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
		later()
	}
	if waits, err := m.Waiting(); waits || err != nil {
		t.Errorf("waits %v, %v", waits, err)
	}
	room()
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Error(err)
	}
	if got := archivedBodies(t, m); got != "one two three held slow " {
		t.Errorf("the archive has %q", got)
	}
}

// A reader that finds room again is killed between two steps. What was read comes to the archive
// once and to no reader, but for an ephemeral message, of which the archive keeps nothing.
func TestAKillWhileThereIsRoomAgainLosesAndDoublesNothing(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	for step, kill := range map[string]struct {
		do   func(l *Lease, mf *mailFile) error
		want string
	}{
		"it has looked": {func(*Lease, *mailFile) error { return nil }, ""},
		"it has archived": {func(l *Lease, mf *mailFile) error {
			return l.box.archive.Append(t.Context(), mf.by, mf.pending, mf.archived)
		}, ""},
		"it has renamed": {func(l *Lease, mf *mailFile) error {
			err := l.box.archive.Append(t.Context(), mf.by, mf.pending, mf.archived)
			return errors.Join(err, mf.rename(func(next *mailFile) { next.acked = 0 }))
		}, "passing"},
		"it has taken it": {func(l *Lease, mf *mailFile) error {
			return mf.rename(func(next *mailFile) { next.by = "other" })
		}, ""},
	} {
		t.Run(step, func(t *testing.T) {
			m, room, later := mixed(t, 0, false)
			if _, err := drain(t.Context(), m, "test"); err != nil {
				t.Fatal(err)
			}
			room()
			dir, err := m.root.Sub(m.LeaseName(), false)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			files, err := mailFiles(dir)
			if err != nil || len(files) != 1 || files[0].acked == 0 {
				t.Fatal(files, err)
			}
			if free, err := m.load(files[0], true); err != nil || !free || len(files[0].pending) != 4 {
				t.Fatal(free, err, files[0].pending)
			}
			if err := kill.do(&Lease{box: m, dir: dir}, files[0]); err != nil {
				t.Fatal(err)
			}
			files[0].file.Close()
			msgs, err := drain(t.Context(), m, "test")
			if got := bodies(msgs); got != kill.want || err != nil {
				t.Errorf("handed over %q, %v", got, err)
			}
			later()
			if msgs, err = drain(t.Context(), m, "test"); bodies(msgs) != "held slow" || err != nil {
				t.Errorf("later %q, %v", bodies(msgs), err)
			}
			if got := archivedBodies(t, m); got != "one two three held slow " {
				t.Errorf("the archive has %q", got)
			}
			if left := numbered(t, m.root.Path()); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// What is recorded in a name is what others see: the lookup by id, the counts, and whoever watches.
func TestWhatWasReadInPartIsSeenSo(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	m, _, _ := mixed(t, 0, false)
	o := m.Observe(false)
	if _, err := o.Look(); err != nil {
		t.Fatal(err)
	}
	l := lease(t, m)
	read := l.Messages
	if err := l.Ack(t.Context(), Handles(read)...); err != nil {
		t.Fatal(err)
	}
	for _, msg := range read {
		if st, err := findOne(t, m, msg.ID); err != nil || st.Where != Archived || st.By != "test" {
			t.Errorf("%s: found %+v, %v", msg.Content, st, err)
		}
	}
	found, err := m.Search(t.Context(), Query{Match: func(mail.Message) bool { return true }, Limit: 10})
	if err != nil || len(found) != 6 || len(slices.DeleteFunc(found, func(f Found) bool { return f.Where != Archived })) != 4 {
		t.Errorf("found %+v, %v", found, err)
	}
	kept, err := m.PeekAll(t.Context())
	if err != nil || len(kept) != 2 {
		t.Fatal(kept, err)
	}
	for _, msg := range kept {
		if st, err := findOne(t, m, msg.ID); err != nil || st.Where != Waiting {
			t.Errorf("%s: found %+v, %v", msg.Content, st, err)
		}
	}
	steps, err := o.Look()
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]int{}
	for _, s := range steps {
		where[s.What]++
	}
	if where[Archived] != len(read) || len(where) != 1 {
		t.Errorf("steps %v", where)
	}
	if n, _, _ := o.Counts(); n != 2 {
		t.Errorf("%d wait", n)
	}
	there, err := m.root.NameSet()
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := OpenBacklogs(m.root, there)
	if err != nil {
		t.Fatal(err)
	}
	defer boxes.Close()
	if b, err := boxes.Of(m.sid); err != nil || b.Count != 2 || b.Oldest != kept[0].Time() {
		t.Errorf("backlog %+v, %v", b, err)
	}
	if err := m.Withdraw(t.Context(), kept[0]); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("withdraw: %v", err)
	}
	if all, err := m.PeekAll(t.Context()); err != nil || bodies(all) != "held slow" {
		t.Errorf("kept back are %q, %v", bodies(all), err)
	}
}

// A damaged file that was read in part is kept aside when there is room.
func TestADamagedFileThatWasReadInPartIsKeptAside(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	m, room, _ := mixed(t, 4096, false)
	path := filepath.Join(m.root.Path(), m.inboxName())
	file, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(file[:len(file)-2], ",\n{\"from_al"...), 0o600)
	}
	if err == nil {
		fill(t, filepath.Dir(m.root.Path()), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := drain(t.Context(), m, "test"); err != nil {
			t.Error(err)
		}
		if got := peek(t, m); got != "" {
			t.Errorf("waiting %q", got)
		}
	}
	room()
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Error(err)
	}
	if copies, _ := filepath.Glob(filepath.Join(m.root.Path(), "*.corrupt-*")); len(copies) != 1 {
		t.Errorf("copies %q", copies)
	}
	if all, err := m.PeekAll(t.Context()); err != nil || len(all) == 0 {
		t.Errorf("kept back are %q, %v", bodies(all), err)
	}
}

// The name of a file counts its bytes, and senders believe it.
func TestAFileThatCouldNotBeWrittenAnewCountsItsBytes(t *testing.T) {
	for _, begun := range []bool{false, true} { // its name tells already of what was read
		m, root := newBox(t)
		m.held = func(mail.Message) bool { return true }
		msgs := []mail.Message{letter("one" + strings.Repeat("x", 5000)), letter("two"), letter("held")}
		msgs[2].Held, msgs[2].NotBefore = "birch", mail.Seconds(time.Now().Add(time.Minute))
		deliver(t, m, msgs...)
		l := lease(t, m)
		mf, read := l.files[0], func(m mail.Message) bool { return m.Held == "" && (!begun || m.Content != "two") }
		rest := slices.DeleteFunc(slices.Clone(mf.msgs), read)
		next := mailFile{number: mf.number, count: len(rest), bytes: int64(len(mail.Array(rest))), archived: mf.archived, at: mf.at, by: mf.by}
		if err := os.Mkdir(filepath.Join(root, "amber.lease", next.name()+".tmp.c2c"), 0o700); err != nil { // in the way of the new content
			t.Fatal(err)
		}
		if begun {
			if err := errors.Join(l.markRead(read), l.Release()); err != nil {
				t.Fatal(err)
			}
			l = lease(t, m)
			defer l.Release()
		} else if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(root, "amber.lease", "part-*.json"))
		if err != nil || len(names) != 1 {
			t.Fatal(begun, names, err)
		}
		now, _ := parseMailFile(filepath.Base(names[0]))
		if info, err := os.Stat(names[0]); err != nil || now.bytes != info.Size() || now.count != len(rest) {
			t.Errorf("begun %v: %s has %d bytes, %v", begun, names[0], info.Size(), err)
		}
	}
}

// A name tells only of what was read before the first message that waits. The rest is handed over
// again, and the reader is told so.
func TestWhatWasReadOnAFullDiskBehindMailThatIsKeptBackComesAgain(t *testing.T) {
	m, root := newBox(t)
	m.held = func(mail.Message) bool { return true }
	msgs := []mail.Message{letter("one"), letter("held"), letter("two")}
	msgs[1].Held, msgs[1].NotBefore = "birch", mail.Seconds(time.Now().Add(time.Minute))
	deliver(t, m, msgs...)
	l := lease(t, m)
	archive := filepath.Join(root, "archive", "amber.jsonl")
	if err := os.MkdirAll(archive, 0o700); err != nil { // as on a full disk, nothing can be archived
		t.Fatal(err)
	}
	if err := l.Ack(t.Context(), Handles(l.Messages)...); !errors.Is(err, errNotMarked) {
		t.Errorf("some of it comes again: %v", err)
	}
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	if again, err := drain(t.Context(), m, "test"); err != nil || bodies(again) != "two" {
		t.Errorf("%q is handed over again, %v", bodies(again), err)
	}
	if got := archivedBodies(t, m); got != "one two " {
		t.Errorf("the archive has %q", got)
	}
}
