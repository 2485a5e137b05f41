package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

// read hands count messages of a size over, one at a time, and returns their ids.
func read(t *testing.T, m *Mailbox, count, size int) (ids []string) {
	t.Helper()
	for i := range count {
		msg := letter(fmt.Sprint(i) + strings.Repeat("x", size))
		msg.ID, msg.TS = mail.NewID(m.now()), 1
		if err := m.archive.Append(t.Context(), "test", []mail.Message{msg}, 0); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, msg.ID)
	}
	return ids
}

func hasID(found map[mail.Key]bool, id string) bool {
	for k := range found {
		if k.ID == id {
			return true
		}
	}
	return false
}

func parts(t *testing.T, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "archive", "amber.old", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestALongArchiveIsManyFilesAndReadAsOne(t *testing.T) {
	m, root := newBox(t)
	var marks []int64
	var ids []string
	for range 6 {
		end, err := m.archive.End()
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, end)
		ids = append(ids, read(t, m, 6, 100_000)...)
	}
	files := append(parts(t, root), filepath.Join(root, "archive", "amber.jsonl"))
	if len(files) < 3 {
		t.Fatalf("files %q", files)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Size() > partSize+101_000 {
			t.Errorf("%s: %v, %v", name, info.Size(), err)
		}
	}
	if !slices.IsSorted(marks) {
		t.Errorf("marks %v", marks)
	}
	for i, mark := range marks {
		got, err := m.archive.Since(mark)
		if err != nil || len(got) != len(ids)-6*i || !hasID(got, ids[6*i]) {
			t.Errorf("behind mark %d: %d ids, %v", i, len(got), err)
		}
	}
	for _, limit := range []int{1, 8, 30, 100} {
		h, err := m.archive.History(t.Context(), limit)
		if err != nil || len(h) != min(limit, len(ids)) {
			t.Fatalf("history of %d: %d, %v", limit, len(h), err)
		}
		for i, a := range h {
			if a.ID != ids[len(ids)-1-i] {
				t.Errorf("history of %d: number %d is %s", limit, i, a.ID)
			}
		}
	}
	for _, id := range ids {
		if st, err := findOne(t, m, id); err != nil || st.Where != Archived {
			t.Errorf("state %q, %v", st.Where, err)
		}
	}
}

func TestWhoLooksDuringARotationMissesNothing(t *testing.T) {
	m, _ := newBox(t)
	ids := read(t, m, 5, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		read(t, m, 24, 200_000) // four rotations
	}()
	mark, seen := int64(0), 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		end, err := m.archive.End()
		if err != nil || end < mark {
			t.Fatalf("mark %d after %d, %v", end, mark, err)
		}
		mark = end
		all, err := m.archive.Since(0)
		if err != nil || len(all) < seen || !hasID(all, ids[0]) {
			t.Fatalf("%d records after %d, %v", len(all), seen, err)
		}
		seen = len(all)
		if st, err := findOne(t, m, ids[0]); err != nil || st.Where != Archived {
			t.Fatalf("state %+v, %v", st, err)
		}
	}
	if seen != 29 {
		t.Errorf("%d records", seen)
	}
}
