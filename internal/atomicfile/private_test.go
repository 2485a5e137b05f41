package atomicfile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/internal/atomicfile"
)

var errFull = errors.New("full")

func open(t *testing.T, most int64) (*atomicfile.PrivateFile[[]string], string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "state")
	dir, err := atomicfile.Create(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return &atomicfile.PrivateFile[[]string]{Dir: dir, Name: "list.json", Lock: "list.lock", Most: most, Full: errFull,
		Parse: func(data []byte) (all []string, err error) {
			err = json.Unmarshal(data, &all)
			return all, err
		},
		Format: func(all []string) ([]byte, error) { return json.Marshal(all) },
	}, filepath.Join(at, "list.json")
}

func add(word string) func(*[]string) error {
	return func(all *[]string) error {
		*all = append(*all, word)
		return nil
	}
}

func TestLookSeesEachChange(t *testing.T) {
	f, path := open(t, 1000)
	for n, word := range []string{"amber", "birch", "cedar"} {
		if err := f.Change(t.Context(), add(word)); err != nil {
			t.Fatal(err)
		}
		if all, err := f.Look(); err != nil || len(all) != n+1 || all[n] != word {
			t.Fatalf("%q %v", all, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if all, err := f.Look(); err != nil || len(all) > 0 {
		t.Errorf("without the file: %q %v", all, err)
	}
}

func TestADamagedFileIsRefusedAndStays(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"no list":      func(path string) error { return os.WriteFile(path, []byte(`["amber"`), 0o600) },
		"readable":     func(path string) error { return os.Chmod(path, 0o644) },
		"large":        func(path string) error { return os.WriteFile(path, []byte(`["`+strings.Repeat("x", 2000)+`"]`), 0o600) },
		"another kind": func(path string) error { return os.WriteFile(path, []byte(`{}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			f, path := open(t, 1000)
			if err := f.Change(t.Context(), add("amber")); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Look(); err != nil {
				t.Fatal(err)
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if all, err := f.Look(); !errors.As(err, new(*atomicfile.DamagedError)) || len(all) > 0 {
				t.Errorf("look: %q %v", all, err)
			}
			if err := f.Change(t.Context(), add("birch")); !errors.As(err, new(*atomicfile.DamagedError)) {
				t.Error("change:", err)
			}
			if after, err := os.ReadFile(path); err != nil || !slices.Equal(before, after) {
				t.Errorf("the file has changed: %q %v", after, err)
			}
		})
	}
}

func TestAChangeThatIsTooLargeIsRefused(t *testing.T) {
	f, _ := open(t, 20)
	if err := f.Change(t.Context(), add("amber")); err != nil {
		t.Fatal(err)
	}
	if err := f.Change(t.Context(), add("a word of many letters")); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if all, err := f.Look(); err != nil || !slices.Equal(all, []string{"amber"}) {
		t.Errorf("%q %v", all, err)
	}
	if err := f.Change(t.Context(), func(all *[]string) error { *all = nil; return nil }); err != nil {
		t.Error(err)
	}
}
