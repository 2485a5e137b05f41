package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/internal/format"
	"c2c/relay"
)

func TestDoctorSaysWhatKeepsMailFromOtherMachines(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	if found := Check(getenv, time.Now()); found != nil {
		t.Errorf("nothing is paired: %+v", found)
	}
	r, err := Open(getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Hosts(time.Now).Add(t.Context(), relay.Host{Name: "devbox", Carrier: relay.SSH, Dest: "me@devbox", Key: public(t)}); err != nil {
		t.Fatal(err)
	}
	expect := func(status format.Status, words string) {
		t.Helper()
		found := Check(getenv, time.Now())
		if len(found) != 1 || found[0].Status != status || !strings.Contains(found[0].Detail, words) {
			t.Errorf("%+v, want %s with %q", found, status, words)
		}
	}
	t.Setenv("PATH", filepath.Join(home, "bin"))
	expect(format.Warning, "no ssh")
	if err := errors.Join(os.Mkdir(filepath.Join(home, "bin"), 0o700), os.WriteFile(filepath.Join(home, "bin", "ssh"), nil, 0o700)); err != nil {
		t.Fatal(err)
	}
	expect(format.Warning, "no mail comes from other machines: c2c relay start") // after a boot, before anything of c2c runs
	if _, err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(format.Warning, "c2c relay start")
	if err := r.Ensure(t.Context(), nil); !errors.Is(err, ErrStopped) {
		t.Errorf("what a person has stopped is started: %v", err)
	}
	if err := os.WriteFile(filepath.Join(home, ".c2c", "relay", "hosts.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(format.Problem, mendHosts)
}

// Whatever stands in the place of a file, the check ends, and says so.
func TestDoctorTellsOfOddFilesOfTheRelay(t *testing.T) {
	put := map[string]func(path string) error{
		"a named pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"a socket":        func(path string) error { return socketAt(t, path) },
		"damaged":         func(path string) error { return os.WriteFile(path, []byte("{\x00"), 0o600) },
		"of others":       func(path string) error { return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), chown(path)) },
		"open to others": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Chmod(path, 0o644))
		},
	}
	files := []string{"key", "hosts.json", "hosts.lock", "hub.json", "links.json", "relay.lock", "relay.pid", "stopped", "ssh_key"}
	for what, put := range put {
		for _, name := range files {
			if what == "damaged" && !slices.Contains([]string{"key", "hosts.json", "hub.json"}, name) || what == "open to others" && !slices.Contains(secret, name) {
				continue
			}
			t.Run(what+" as "+name, func(t *testing.T) {
				home := t.TempDir()
				getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
				r, err := Open(getenv, true)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if _, err := r.Hosts(time.Now).Add(t.Context(), relay.Host{Name: "devbox", Carrier: relay.SSH, Key: public(t)}); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(r.Dir.Path(), name)
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				if err := put(path); errors.Is(err, errNotRoot) {
					return
				} else if err != nil {
					t.Fatal(err)
				}
				found := Check(getenv, time.Now())
				if format.Problems(found) == 0 || !strings.Contains(fmt.Sprint(found), name) {
					t.Errorf("%+v", found)
				}
			})
		}
	}
	for what, put := range put {
		t.Run(what+" as the directory", func(t *testing.T) {
			home := t.TempDir()
			if err := os.Mkdir(filepath.Join(home, ".c2c"), 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(home, ".c2c", "relay")
			if err := put(path); err != nil && !errors.Is(err, errNotRoot) {
				t.Fatal(err)
			}
			found := Check(func(name string) string { return map[string]string{"HOME": home}[name] }, time.Now())
			if want := what != "a directory"; (format.Problems(found) > 0) != want {
				t.Errorf("%+v", found)
			}
		})
	}
}

var errNotRoot = errors.New("only root gives files away")

func chown(path string) error {
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	return os.Lchown(path, 12345, 12345)
}

// socketAt makes a socket. A path may be too long to listen there.
func socketAt(t *testing.T, path string) error {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	short := filepath.Join(dir, "s")
	l, err := net.Listen("unix", short)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	return os.Rename(short, path)
}
