package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// age makes every file below a path as old as a year.
func age(t *testing.T, path string) {
	t.Helper()
	old := time.Now().Add(-365 * 24 * time.Hour)
	err := filepath.WalkDir(path, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAPrunedArchiveKeepsItsPlaces(t *testing.T) {
	m, root := newBox(t)
	month := time.Now().Add(-30 * 24 * time.Hour)
	read(t, m, 30, 100_000)
	age(t, filepath.Join(root, "archive"))
	for _, dry := range []bool{true, false} {
		p, err := m.archive.Prune(t.Context(), month, dry)
		if err != nil || p.Count != 3 || p.Bytes < 3_000_000 {
			t.Fatalf("dry %v: pruned %+v, %v", dry, p, err)
		}
		if h, err := m.archive.History(t.Context(), 9); err != nil || len(h) != map[bool]int{true: 9, false: 0}[dry] {
			t.Fatalf("dry %v: history %d, %v", dry, len(h), err)
		}
	}
	mark, err := m.archive.End()
	if err != nil || mark < 3_000_000 {
		t.Errorf("the end is %d, %v", mark, err)
	}
	ids := read(t, m, 1, 10)
	if got, err := m.archive.Since(mark); err != nil || len(got) != 1 || !hasID(got, ids[0]) {
		t.Errorf("behind the mark %v, %v", got, err)
	}
	if got, err := m.archive.Since(5); err != nil || len(got) != 1 {
		t.Errorf("behind a pruned place %v, %v", got, err)
	}
	// Again: only what is old by now goes, and places go on.
	if p, err := m.archive.Prune(t.Context(), month, false); err != nil || p.Count != 0 {
		t.Errorf("pruned %+v, %v", p, err)
	}
	age(t, filepath.Join(root, "archive"))
	end, err := m.archive.End()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := m.archive.Prune(t.Context(), month, false); err != nil || p.Count != 1 {
		t.Errorf("pruned %+v, %v", p, err)
	}
	if now, err := m.archive.End(); err != nil || now != end {
		t.Errorf("the end moved from %d to %d, %v", end, now, err)
	}
	if files := parts(t, root); len(files) > 2 {
		t.Errorf("left %q", files)
	}
}

func TestAMailboxInUseIsNotDiscarded(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, letter("one"))
	wantKept := func(why string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			if p, gone, err := m.Discard(dry); gone || err != nil {
				t.Errorf("%s, dry %v: discarded %+v, %v", why, dry, p, err)
			}
		}
	}
	wantKept("mail waits")
	l := lease(t, m)
	wantKept("a reader has it")
	if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
		t.Fatal(err)
	}
	lk, err := m.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p, gone, err := m.Discard(false); gone || err != nil {
		t.Errorf("somebody has the lock: discarded %+v, %v", p, err)
	}
	lk.Release()
	read(t, m, 12, 100_000) // and a rotated part
	first, gone, err := m.Discard(true)
	if !gone || err != nil {
		t.Fatal(first, err)
	}
	p, gone, err := m.Discard(false)
	if !gone || err != nil || p != first || p.Count < 4 {
		t.Errorf("discarded %+v after %+v, %v", p, first, err)
	}
	for _, dir := range []string{root, filepath.Join(root, "archive")} {
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			if e.Name() != "archive" {
				t.Errorf("%s is left", e.Name())
			}
		}
	}
	deliver(t, m, letter("new life"))
	if got := peek(t, m); got != "new life" {
		t.Errorf("waiting %q", got)
	}
}

func TestAPruneBesideAnotherIsNoError(t *testing.T) {
	m, root := newBox(t)
	for i := range 1000 {
		plant(t, root, filepath.Join("archive", "amber.old"), fmt.Sprintf("%016d.jsonl", i), []byte("\n"))
	}
	age(t, filepath.Join(root, "archive"))
	done := make(chan error, 1)
	go func() {
		_, err := m.archive.Prune(t.Context(), time.Now().Add(-time.Hour), false)
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			if _, err := m.archive.Prune(t.Context(), time.Now().Add(-time.Hour), true); err != nil {
				t.Fatal(err)
			}
		}
	}
}
