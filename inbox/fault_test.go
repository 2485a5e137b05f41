//go:build linux

package inbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"c2c/e2e/namespace"
	"c2c/inbox/mail"
)

// newDisk is a file system of 1 MiB with a mailbox on it.
func newDisk(t *testing.T) (m *Mailbox, dir string) {
	t.Helper()
	dir = namespace.Disk(t, "1m")
	m, err := openAt(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.root.Close() })
	return m, dir
}

// fill leaves so many bytes free, and returns what makes room again.
func fill(t *testing.T, dir string, left int64) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int64(0)
	for err == nil {
		var n int
		n, err = f.Write(make([]byte, 4096))
		size += int64(n)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Truncate(size - left); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// files has what stands in every file of the mailbox, whatever its name.
func files(t *testing.T, m *Mailbox) (found []string) {
	t.Helper()
	err := filepath.WalkDir(m.root.Path(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = append(found, string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// backlog is mail that fits the inbox, or goes behind it.
func backlog(t *testing.T, m *Mailbox, count int) (stored []mail.Message, want string) {
	t.Helper()
	for range count {
		stored = append(stored, deliver(t, m, letter(strings.Repeat("w", 2000)))...)
	}
	if rows := numbered(t, m.root.Path()); (len(rows) > 0) != (count*2000 > maxInbox) {
		t.Fatalf("numbered files %q", rows)
	}
	return stored, bodies(stored)
}

// A write that fails at once, and one that fails halfway, in the inbox and after it was rotated.
func TestAFullDiskRefusesMailAndKeepsWhatWaits(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	for _, count := range []int{1, 40} {
		for _, left := range []int64{0, 8192} {
			m, dir := newDisk(t)
			_, want := backlog(t, m, count)
			empty := fill(t, dir, left)
			before := files(t, m)
			long := letter(strings.Repeat("x", 50_000))
			for _, msgs := range [][]mail.Message{{long}, {long}, {letter("short"), long, long}} {
				if _, err := m.Deliver(t.Context(), msgs...); !errors.Is(err, unix.ENOSPC) {
					t.Errorf("%d waiting, %d bytes free: %v", count, left, err)
				}
			}
			if after := files(t, m); !slices.Equal(before, after) {
				t.Errorf("%d waiting, %d bytes free: %d files before, %d after, or another content", count, left, len(before), len(after))
			}
			empty()
			deliver(t, m, letter("after"))
			if got := peek(t, m); got != want+" after" {
				t.Errorf("%d waiting, %d bytes free: then waiting %.40q", count, left, got)
			}
		}
	}
}

func TestMailIsReadOnAFullDiskAndArchivedLater(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	for _, count := range []int{1, 40} {
		m, dir := newDisk(t)
		stored, want := backlog(t, m, count)
		if err := m.archive.MarkCalm(nil); err != nil {
			t.Fatal(err)
		}
		empty := fill(t, dir, 0)
		l := lease(t, m)
		if got := bodies(l.Messages); got != want {
			t.Errorf("leased %.40q", got)
		}
		if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
			t.Errorf("ack: %v", err)
		}
		if _, err := m.root.Stat(CalmName(m.sid)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a kill here would leave the session calm: %v", err)
		}
		if again := lease(t, m); len(again.Messages) != 0 {
			t.Errorf("%d messages were handed over again", len(again.Messages))
		}
		if waits, err := m.Waiting(); waits || err != nil {
			t.Errorf("waits %v, %v", waits, err)
		}
		for _, msg := range stored {
			if st, err := findOne(t, m, msg.ID); err != nil || st.Where != Archived {
				t.Fatalf("found %+v, %v", st, err)
			}
		}
		if h, err := m.archive.History(t.Context(), 100); err != nil || len(h) != 0 {
			t.Fatalf("%d records in an archive without room, %v", len(h), err)
		}
		empty()
		lease(t, m)
		if h, err := m.archive.History(t.Context(), 100); err != nil || len(h) != count || h[0].ID != stored[count-1].ID {
			t.Errorf("%d records, %v, want %d", len(h), err, count)
		}
		if some, err := m.Used(); some || err != nil {
			t.Errorf("something is left: %v, %v", some, err)
		}
	}
}

// What was handed over is recorded in the name of its file, the rest waits.
func TestAPartialAckOnAFullDiskLosesNothing(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	m, dir := newDisk(t)
	stored := deliver(t, m, letter("one"), letter("two"))
	empty := fill(t, dir, 0)
	if err := lease(t, m).Ack(t.Context(), stored[0].ID); err != nil {
		t.Errorf("ack: %v", err)
	}
	if got := peek(t, m); got != "two" {
		t.Errorf("waiting %q", got)
	}
	empty()
	if msgs, err := drain(t.Context(), m, "test"); bodies(msgs) != "two" || err != nil {
		t.Errorf("with room again %q, %v", bodies(msgs), err)
	}
	if got := archivedBodies(t, m); got != "one two " {
		t.Errorf("the archive has %q", got)
	}
}

func TestAReadOnlyRootIsStillLookedAt(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	m, dir := newDisk(t)
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	read := deliver(t, m, letter("read"))
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	deliver(t, m, letter("released"))
	if err := lease(t, m).Release(); err != nil {
		t.Fatal(err)
	}
	waits := deliver(t, m, letter("waits"))
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Deliver(t.Context(), letter("x")); !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), m.root.Path()) {
		t.Errorf("deliver: %v", err)
	}
	if _, err := m.Lease(t.Context(), "test", 1<<30); !errors.Is(err, unix.EROFS) {
		t.Errorf("lease: %v", err)
	}
	if got := peek(t, m); got != "released waits" {
		t.Errorf("peek %q", got)
	}
	if some, err := m.Waiting(); !some || err != nil {
		t.Errorf("waiting %v, %v", some, err)
	}
	for id, want := range map[string]string{read[0].ID: Archived, waits[0].ID: Waiting} {
		if st, err := findOne(t, m, id); err != nil || st.Where != want {
			t.Errorf("found %+v, %v, want %s", st, err, want)
		}
	}
	if h, err := m.archive.History(t.Context(), 9); err != nil || len(h) != 1 {
		t.Errorf("history %+v, %v", h, err)
	}
}

// The log has no lock, so each line must be whole whenever a full disk has room for a part of it.
func TestALineThatHasNoRoomHarmsNoOtherLine(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	m, dir := newDisk(t)
	line := []byte(strings.Repeat("x", 999) + "\n")
	if err := m.root.Log("broker.log", line); err != nil {
		t.Fatal(err)
	}
	empty := fill(t, dir, 4096)
	var err error
	for err == nil {
		err = m.root.Log("broker.log", line)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	empty()
	if err := m.root.Log("broker.log", line); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "root", "broker.log"))
	if err != nil || len(data)%len(line) != 0 || strings.Replace(string(data), string(line), "", -1) != "" {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
