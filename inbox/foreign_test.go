package inbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// foreign gives every thing that may have the name of a mail file and is none.
func foreign() map[string]func(path string) error {
	things := map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"hole": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		},
	}
	if os.Geteuid() == 0 {
		things["somebody else's"] = func(path string) error {
			if err := os.WriteFile(path, []byte("[]\n"), 0o600); err != nil {
				return err
			}
			return os.Chown(path, 1, 1)
		}
	} else {
		things["not readable"] = func(path string) error { return os.WriteFile(path, nil, 0) }
	}
	return things
}

// Nothing is read before a person has moved such a file away, and the error names it. What is sent
// meanwhile is stored.
func TestAForeignFileIsAnError(t *testing.T) {
	for kind, plant := range foreign() {
		for _, name := range []string{"00000001-1-10.json", "00000001-1-10-0-1-hook.json", "done-00000001-1-10-0-1-hook.json"} {
			m, root := newBox(t)
			path := filepath.Join(root, m.LeaseName(), name)
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), plant(path)); err != nil {
				t.Fatal(err)
			}
			deliver(t, m, letter("one"))
			if _, err := m.Lease(t.Context(), "hook", 1<<30); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %s: leased, %v", kind, name, err)
			}
			if err := os.Rename(path, filepath.Join(root, "away")); err != nil {
				t.Fatal(err)
			}
			if got := peek(t, m); got != "one" {
				t.Errorf("%s %s: waiting %q", kind, name, got)
			}
		}
	}
}

func TestAForeignArchiveIsAnError(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, letter("one"))
	lease(t, m).Release()
	if err := os.MkdirAll(filepath.Join(root, Dir, m.archive.Name()), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Lease(t.Context(), "hook", 1<<30); err == nil {
		t.Error("leased")
	}
}

// A file manager, an editor or a program that copies folders leaves such files. They are not mail,
// and hold back nothing.
func TestNamesThatAreNotOursArePassedOver(t *testing.T) {
	m, root := newBox(t)
	for _, name := range []string{".DS_Store", "notes.txt", "00000001-1-10.json~", ".00000001-1-10.json.swp"} {
		plantFile(t, root, m.LeaseName()+"/"+name, "")
		if err := os.Mkdir(filepath.Join(root, m.LeaseName(), name+".d"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if some, err := m.Used(); some || err != nil {
		t.Errorf("used: %v, %v", some, err)
	}
	deliver(t, m, letter("one"))
	if damaged, err := m.Damaged(t.Context()); damaged || err != nil {
		t.Errorf("damaged: %v, %v", damaged, err)
	}
	l := lease(t, m)
	if some, err := m.Used(); !some || err != nil {
		t.Errorf("used while a reader has mail: %v, %v", some, err)
	}
	if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil || bodies(l.Messages) != "one" {
		t.Errorf("read %q, %v", bodies(l.Messages), err)
	}
	if some, err := m.Used(); some || err != nil {
		t.Errorf("used after all was read: %v, %v", some, err)
	}
}
