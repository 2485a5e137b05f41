package atomicfile

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

type entry struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

func open(t *testing.T) (RecordsFile[entry], string) {
	t.Helper()
	path := t.TempDir()
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return RecordsFile[entry]{dir, "list.json", "list.lock", time.Now, slog.New(slog.DiscardHandler)}, filepath.Join(path, "list.json")
}

func add(name string) func([]entry) ([]entry, error) {
	return func(all []entry) ([]entry, error) { return append(all, entry{Name: name}), nil }
}

func TestTheFileExistsOnlyWhileThereIsAnEntry(t *testing.T) {
	t.Parallel()
	f, path := open(t)
	for _, name := range []string{"a", "b"} {
		if err := f.Change(t.Context(), add(name)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := f.Read(); err != nil || !slices.Equal(all, []entry{{Name: "a"}, {Name: "b"}}) {
		t.Errorf("%v %v", all, err)
	}
	if err := f.Change(t.Context(), func([]entry) ([]entry, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestAnEditThatChangesNothingTakesNoLock(t *testing.T) {
	t.Parallel()
	f, _ := open(t)
	if err := f.Change(t.Context(), add("a")); err != nil {
		t.Fatal(err)
	}
	held, err := Acquire(t.Context(), f.Dir, f.Lock)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.ChangeSeldom(ctx, func(all []entry) ([]entry, error) { return all, nil }); err != nil {
		t.Error(err)
	}
	if err := f.ChangeSeldom(ctx, add("b")); !errors.Is(err, ErrLockTimeout) {
		t.Errorf("an edit that changes something: %v", err)
	}
}

func TestAnEditWithoutTheLockLosesNoOther(t *testing.T) {
	t.Parallel()
	f, _ := open(t)
	if err := f.ChangeSeldom(t.Context(), add("nobody")); err != nil { // an empty list stays empty
		t.Error(err)
	}
	if err := f.Change(t.Context(), add("a")); err != nil {
		t.Fatal(err)
	}
	calls := 0
	err := f.ChangeSeldom(t.Context(), func(all []entry) ([]entry, error) {
		if calls++; calls == 1 {
			if err := f.Change(t.Context(), add("b")); err != nil {
				t.Fatal(err)
			}
		}
		return add("c")(all)
	})
	if all, rerr := f.Read(); err != nil || rerr != nil || !slices.Equal(all, []entry{{Name: "a"}, {Name: "b"}, {Name: "c"}}) {
		t.Errorf("%v, %v, %v", all, err, rerr)
	}
}

func TestADamagedFileIsKeptAndTheNextEntryStored(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"{", `{"name":"a"}`, `[{"name":1}]`, `[{"name":"a","at":"yesterday"}]`, `[{"name":"a","at":5}]`, "\x00", ""} {
		f, path := open(t)
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(); err == nil {
			t.Errorf("%q is read", damage)
		}
		if err := f.Change(t.Context(), add("b")); err != nil {
			t.Errorf("%q: %v", damage, err)
		}
		if all, err := f.Read(); err != nil || len(all) != 1 {
			t.Errorf("%q: %v %v", damage, all, err)
		}
		kept, _ := filepath.Glob(path + ".corrupt-*")
		if len(kept) != 1 {
			t.Errorf("%q: %q", damage, kept)
		} else if data, err := os.ReadFile(kept[0]); err != nil || string(data) != damage {
			t.Errorf("%q: kept %q, %v", damage, data, err)
		}
	}
}
