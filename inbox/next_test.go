package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"c2c/inbox/mail"
)

// nextAll gives the ids that stand behind a place, and where the last of them ends.
func nextAll(t *testing.T, m *Mailbox, place int64) (ids []string, end int64) {
	t.Helper()
	for {
		r, behind, ok, err := m.archive.Next(place)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return ids, behind
		}
		if behind <= place && len(ids) > 0 {
			t.Fatalf("behind %d comes %d", place, behind)
		}
		ids, place = append(ids, r.ID), behind
	}
}

func TestTheArchiveIsReadFromAPlaceOnMessageByMessage(t *testing.T) {
	m, root := newBox(t)
	if ids, end := nextAll(t, m, 0); len(ids) != 0 || end != 0 {
		t.Errorf("of an archive that is not there: %q, %d", ids, end)
	}
	ids := read(t, m, 30, 100_000)
	if len(parts(t, root)) < 2 {
		t.Fatal("the archive has one file")
	}
	place := int64(0)
	for i := range ids { // from each place on
		if got, end := nextAll(t, m, place); i%7 == 0 && !slices.Equal(got, ids[i:]) {
			t.Fatalf("behind %d: %q to %d, want %q", place, got, end, ids[i:])
		}
		_, behind, ok, err := m.archive.Next(place)
		if err != nil || !ok {
			t.Fatal(err)
		}
		place = behind
	}
	if end, err := m.Archive().End(); err != nil || end != place {
		t.Errorf("the last one ends at %d, the archive at %d, %v", place, end, err)
	}
	for _, foreign := range []int64{-1, place + 1} {
		if got, _ := nextAll(t, m, foreign); !slices.Equal(got, ids) {
			t.Errorf("behind %d: %d messages", foreign, len(got))
		}
	}
	age(t, filepath.Join(root, "archive"))
	if _, err := m.archive.Prune(t.Context(), time.Now().Add(-time.Hour), false); err != nil {
		t.Fatal(err)
	}
	more := read(t, m, 2, 10)
	for _, place := range []int64{0, 5, place} {
		if got, _ := nextAll(t, m, place); !slices.Equal(got, more) {
			t.Errorf("behind %d of what was pruned: %q, want %q", place, got, more)
		}
	}
}

func TestWhatIsNoRecordIsPassedOver(t *testing.T) {
	m, root := newBox(t)
	ephemeral := letter("gone")
	ephemeral.Ephemeral, ephemeral.ID, ephemeral.FromSession = true, "e-1", "birch"
	first := read(t, m, 1, 1)
	if err := m.archive.Append(t.Context(), "test", []mail.Message{ephemeral}, 0); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "archive", "amber.jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "{\n\n[]\n%*d\n", 8<<20+1, 1) // a longer line than any of ours
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	second := read(t, m, 1, 1)
	got, end := nextAll(t, m, 0)
	if want := append(first, second...); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// Half a line is not there yet.
	whole, err := os.ReadFile(path)
	if err == nil {
		err = os.Truncate(path, int64(len(whole))-1)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, cut := nextAll(t, m, 0); !slices.Equal(got, first) || cut >= end {
		t.Errorf("%q up to %d", got, cut)
	}
}
