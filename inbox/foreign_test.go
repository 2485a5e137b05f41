package inbox

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"c2c/inbox/mail"
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

func TestAForeignFileHidesNoMail(t *testing.T) {
	for kind, plant := range foreign() {
		for _, name := range []string{"00000001-1-10.json", "00000001-1-10-0-1-hook.json", "done-00000001-1-10-0-1-hook.json"} {
			m, root := newBox(t)
			log := &strings.Builder{}
			m.log = slog.New(slog.NewTextHandler(log, nil))
			path := filepath.Join(root, m.LeaseName(), name)
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			if some, err := m.Waiting(); some || err != nil {
				t.Errorf("%s %s: it waits: %v, %v", kind, name, some, err)
			}
			if empty, err := m.Empty(t.Context()); !empty || err != nil {
				t.Errorf("%s %s: empty: %v, %v", kind, name, empty, err)
			}
			sent := deliver(t, m, chosen("birch", "job-1", "one"))
			if got := peek(t, m); got != "one" {
				t.Errorf("%s %s: waiting %q", kind, name, got)
			}
			wantStates(t, m, "job-1", "birch queued")
			if _, err := m.Stamp(); err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
			}
			if err := m.Receive(t.Context(), func(mail.Message) bool { return true }, "hook"); err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
			}
			if got, err := drain(t.Context(), m, "hook"); err != nil || bodies(got) != bodies(sent) {
				t.Errorf("%s %s: drained %q, %v", kind, name, bodies(got), err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("%s %s is gone: %v", kind, name, err)
			}
			if !strings.Contains(log.String(), name) {
				t.Errorf("%s %s: log %q", kind, name, log)
			}
			if found, err := m.ForeignFiles(); err != nil || len(found) != 1 || !strings.Contains(found[0].Error(), name) {
				t.Errorf("%s %s: told %v, %v", kind, name, found, err)
			}
			if empty, err := m.Empty(t.Context()); !empty || err != nil {
				t.Errorf("%s %s: empty afterwards: %v, %v", kind, name, empty, err)
			}
		}
	}
}

func TestNamesThatAreNotOursFillNoMailbox(t *testing.T) {
	m, root := newBox(t)
	for _, name := range []string{"notes.txt", ".queued-1-1", "x.tmp.1"} {
		plantFile(t, root, m.LeaseName()+"/"+name, "")
		if err := os.MkdirAll(filepath.Join(root, m.LeaseName(), name+".d"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if empty, err := m.Empty(t.Context()); !empty || err != nil {
		t.Errorf("empty: %v, %v", empty, err)
	}
	deliver(t, m, letter("one"))
	l := lease(t, m)
	if empty, err := m.Empty(t.Context()); empty || err != nil {
		t.Errorf("empty while a reader has mail: %v, %v", empty, err)
	}
	l.Release()
	if empty, err := m.Empty(t.Context()); empty || err != nil {
		t.Errorf("empty while mail waits: %v, %v", empty, err)
	}
}

// An archive that is not ours is no foreign mail file: the mail would be passed over in silence.
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
