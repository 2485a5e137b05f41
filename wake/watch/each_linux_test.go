package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A lock file is removed with its mailbox, and made anew when the session is back.
func TestAFileThatIsMadeAnewIsWatchedAgain(t *testing.T) {
	dir := t.TempDir()
	stays, goes := filepath.Join(dir, "stays"), filepath.Join(dir, "goes")
	write := func(path string) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(stays)
	write(goes)
	changes := NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := errors.New("done")
	looks := 0
	err := changes.Each(ctx, time.Millisecond, func() (files []string, wait time.Duration, err error) {
		files = []string{stays, goes}
		switch looks++; looks {
		case 2: // the first look that can be sure of its watches
			files = files[:1]
			if err := os.Remove(goes); err != nil {
				t.Fatal(err)
			}
		case 3:
			write(goes)
		case 4:
			write(goes)
		case 5:
			return nil, 0, done
		}
		return files, 0, nil
	})
	if !errors.Is(err, done) {
		t.Errorf("%d looks, %v", looks, err)
	}
}

// Whoever names it does not know that it is another file now.
func TestAFileThatIsReplacedIsWatched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write := func() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	changes := NewChanges()
	defer changes.Close()
	done := errors.New("done")
	looks := 0
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // without a watch it looks after a minute
	defer cancel()
	err := changes.Each(ctx, time.Millisecond, func() (files []string, wait time.Duration, err error) {
		switch looks++; looks {
		case 2: // the first look that can be sure of its watch
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			write()
		case 3, 4: // 3 may be told of the removal, or follow the new watch
			write()
		case 5:
			return nil, 0, done
		}
		return []string{file}, 0, nil
	})
	if !errors.Is(err, done) {
		t.Errorf("%d looks, %v", looks, err)
	}
}

// Its directory may not be there yet, or the user's watches have run out:
// /proc/sys/user/max_inotify_watches.
func TestAFileThatCannotBeWatchedIsLookedAtEverySecond(t *testing.T) {
	file := filepath.Join(t.TempDir(), "comes")
	changes := NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := errors.New("done")
	looks := 0
	err := changes.Each(ctx, time.Millisecond, func() (files []string, wait time.Duration, err error) {
		switch looks++; looks {
		case 2, 3: // nobody has told of the second look. The third is the first with a watch
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case 4:
			return nil, 0, done
		}
		return []string{file}, 0, nil
	})
	if !errors.Is(err, done) {
		t.Errorf("%d looks, %v", looks, err)
	}
}
