package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// newStore is the archive of amber in a new root.
func newStore(t *testing.T) (s *Archive, root string) {
	t.Helper()
	root = t.TempDir()
	dir, err := atomicfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return NewArchive(dir, "amber", time.Now, NoLog), root
}

// appendChosen archives count messages of a size, whose ids their sender chose.
func appendChosen(t *testing.T, s *Archive, name string, count, size int) (msgs []mail.Message) {
	t.Helper()
	for i := range count {
		msg := mail.Message{From: "birch", To: "amber", Content: fmt.Sprint(i) + strings.Repeat("x", size), ID: fmt.Sprintf("%s-%d", name, i), TS: 1, FromSession: "s-birch"}
		if err := s.Append(t.Context(), "test", []mail.Message{msg}, 0); err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, msg)
	}
	return msgs
}

// withID gives the records with an id.
func withID(t *testing.T, s *Archive, id string) (found []ArchiveRecord) {
	t.Helper()
	s.Index(t.Context())
	if err := s.WithIDs(map[string]bool{id: true}, func() bool { return true }, func(r ArchiveRecord) { found = append(found, r) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// wantFound wants each message in the archive once.
func wantFound(t *testing.T, s *Archive, msgs []mail.Message) {
	t.Helper()
	for _, msg := range msgs {
		if found := withID(t, s, msg.ID); len(found) != 1 || found[0].Content != msg.Content {
			t.Fatalf("%d records have the id %s", len(found), msg.ID)
		}
	}
}

// A process was killed between the rename and the first record of the next file.
func TestAKilledRotationLosesNoRecordAndNoMark(t *testing.T) {
	s, root := newStore(t)
	all := appendChosen(t, s, "a", 3, 10)
	mark, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := s.root.Sub(Dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := s.rotate(dir, &snapshot{}); err != nil {
		t.Fatal(err)
	}
	if end, err := s.End(); err != nil || end != mark {
		t.Errorf("the end moved from %d to %d, %v", mark, end, err)
	}
	if h, err := s.History(t.Context(), 9); err != nil || len(h) != 3 {
		t.Errorf("history %d, %v", len(h), err)
	}
	all = append(all, appendChosen(t, s, "b", 1, 10)...)
	if got, err := s.Since(mark); err != nil || len(got) != 1 || !got[all[3].RecordKey()] {
		t.Errorf("behind the mark %v, %v", got, err)
	}
	if names, err := os.ReadDir(filepath.Join(root, Dir, s.OldName())); err != nil || len(names) != 1 || names[0].Name() != partName(0) {
		t.Errorf("files %v, %v", names, err)
	}
}
