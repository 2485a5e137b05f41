package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestUntilWakesWhenTheLockFileIsClosed(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "amber.inbox.lock")
	touch := func() {
		f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		f.Close()
	}
	touch()
	looked := 0
	changes := NewChanges()
	defer changes.Close()
	err := changes.Until(t.Context(), lock, func() (bool, error) {
		looked++
		if looked == 1 {
			go touch() // a writer comes after the first look
		}
		return looked > 1, nil
	})
	if err != nil || looked < 2 {
		t.Errorf("looked %d times, %v", looked, err)
	}
}

func TestUntilEndsWithItsContext(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	changes := NewChanges()
	defer changes.Close()
	err := changes.Until(ctx, lock, func() (bool, error) { return false, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
