package inbox

import (
	"errors"
	"io/fs"
	"testing"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Whoever archives a message removes the file first, so no kill leaves a calm session with news.
func TestASessionIsCalmUntilItIsHandedMail(t *testing.T) {
	box, _ := newBox(t)
	s := box.Archive()
	is := func(want bool) {
		t.Helper()
		_, err := box.root.Stat(CalmName(box.sid))
		if (err == nil) != want || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("calm: %v, want %v", err, want)
		}
	}
	mark := func(over bool) {
		t.Helper()
		if err := s.MarkCalm(func(ArchiveRecord) bool { return over }); err != nil {
			t.Fatal(err)
		}
	}
	mark(false) // it was never handed anything
	is(true)
	if err := s.Append(t.Context(), "hook", []mail.Message{{From: "birch", Content: "x", ID: "m-1"}}, 0); err != nil {
		t.Fatal(err)
	}
	is(false)
	mark(false)
	is(false)
	mark(true)
	is(true)
	// A message is on its way into the archive.
	if err := s.underLock(t.Context(), func(*atomicfile.Dir) error {
		if err := box.root.Remove(CalmName(box.sid)); err != nil {
			return err
		}
		mark(true)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	is(false)
	mark(true)
	is(true)
	// The mailbox of the same session in another root is merged into this one.
	other, _ := newBox(t)
	if err := other.Archive().Append(t.Context(), "hook", []mail.Message{{From: "birch", Content: "y", ID: "m-2"}}, 0); err != nil {
		t.Fatal(err)
	}
	if gone, err := other.MergeInto(t.Context(), box); err != nil || !gone {
		t.Fatal(gone, err)
	}
	is(false)
}
