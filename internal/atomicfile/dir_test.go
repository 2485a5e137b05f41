package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func newDir(t *testing.T) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d")
	d, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, path
}

func TestWriteReplacesAndLeavesNothingElse(t *testing.T) {
	d, path := newDir(t)
	for _, text := range []string{"one", strings.Repeat("two", 100_000), ""} {
		if err := d.Write("f", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Read("f"); err != nil || string(got) != text {
			t.Errorf("read %d bytes, %v, want %d", len(got), err, len(text))
		}
	}
	if err := os.Mkdir(filepath.Join(path, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Write("taken", []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	names, err := d.Names()
	if err != nil || len(names) != 2 {
		t.Errorf("left %q, %v", names, err)
	}
	info, err := d.Stat("f")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A reader sees one whole version, whichever.
func TestAReaderNeverSeesHalf(t *testing.T) {
	d, _ := newDir(t)
	a, b := strings.Repeat("a", 50_000), strings.Repeat("b", 60_000)
	if err := d.Write("f", []byte(a)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		for i := range 50 {
			if err := d.Write("f", []byte([]string{a, b}[i%2])); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		got, err := d.Read("f")
		if err != nil || string(got) != a && string(got) != b {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

// plants are the things that a peer could put where a file of ours belongs.
func plants(t *testing.T) (elsewhere string, byKind map[string]func(string) error) {
	t.Helper()
	elsewhere = filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	byKind = map[string]func(string) error{
		"symlink":       func(p string) error { return os.Symlink(elsewhere, p) },
		"dangling link": func(p string) error { return os.Symlink(elsewhere+"-not", p) },
		"fifo":          func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"socket":        plantSocket,
		"directory":     func(p string) error { return os.Mkdir(p, 0o700) },
	}
	if os.Geteuid() == 0 {
		byKind["of another user"] = func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o666), os.Chown(p, 65534, -1))
		}
	}
	return elsewhere, byKind
}

func plantSocket(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	// The address of a socket holds about 100 bytes, a temporary directory's name may have more.
	short := filepath.Join(os.TempDir(), "c2c-"+strconv.Itoa(os.Getpid()))
	return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: short}), os.Rename(short, path))
}

// None of them may block the caller either: a FIFO without a peer would.
func TestWhatIsNotOurFileIsRefused(t *testing.T) {
	elsewhere, byKind := plants(t)
	for kind, plant := range byKind {
		d, path := newDir(t)
		if err := plant(filepath.Join(path, "f")); err != nil {
			t.Fatal(err)
		}
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE} {
			if f, err := d.Open("f", flag); !errors.Is(err, ErrNotOurs) {
				f.Close()
				t.Errorf("%s opened with %#x: %v", kind, flag, err)
			}
		}
		_, err := d.Read("f")
		for verb, err := range map[string]error{"read": err, "append to": d.AppendLines("f", []byte("x")), "log to": d.Log("f", []byte("x"))} {
			if !errors.Is(err, ErrNotOurs) || !strings.Contains(err.Error(), filepath.Join(path, "f")) {
				t.Errorf("%s %s: %v", verb, kind, err)
			}
		}
	}
	if data, err := os.ReadFile(elsewhere); err != nil || string(data) != "theirs" {
		t.Errorf("the file elsewhere is %q, %v", data, err)
	}
	if _, err := os.Lstat(elsewhere + "-not"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dangling link was followed: %v", err)
	}
}

// A new content takes the place of a planted thing, and nothing is written through it.
func TestWriteGoesThroughNothingPlanted(t *testing.T) {
	elsewhere, byKind := plants(t)
	for kind, plant := range byKind {
		d, path := newDir(t)
		if err := plant(filepath.Join(path, "f")); err != nil {
			t.Fatal(err)
		}
		err := d.Write("f", []byte("ours"))
		if got, rerr := d.Read("f"); err == nil && (rerr != nil || string(got) != "ours") || (err != nil) != (kind == "directory") {
			t.Errorf("%s: %v; read %q, %v", kind, err, got, rerr)
		}
		if names, err := d.Names(); err != nil || len(names) != 1 {
			t.Errorf("%s: left %q, %v", kind, names, err)
		}
	}
	if data, err := os.ReadFile(elsewhere); err != nil || string(data) != "theirs" {
		t.Errorf("the file elsewhere is %q, %v", data, err)
	}
}

func TestWhatIsNotOurDirectoryIsRefused(t *testing.T) {
	_, byKind := plants(t)
	other := t.TempDir()
	delete(byKind, "directory")
	byKind["symlink to a directory"] = func(p string) error { return os.Symlink(other, p) }
	byKind["directory that others may write"] = func(p string) error {
		return errors.Join(os.Mkdir(p, 0o700), os.Chmod(p, 0o770))
	}
	if os.Geteuid() == 0 {
		byKind["directory of another user"] = func(p string) error {
			return errors.Join(os.Mkdir(p, 0o700), os.Chown(p, 65534, -1))
		}
	}
	for kind, plant := range byKind {
		d, path := newDir(t)
		if err := plant(filepath.Join(path, "sub")); err != nil {
			t.Fatal(err)
		}
		for _, create := range []bool{false, true} {
			if sub, err := d.Sub("sub", create); !errors.Is(err, ErrNotOurs) {
				t.Errorf("%s, create %v: %v, %v", kind, create, sub, err)
			}
		}
	}
}

func TestANameIsOneComponent(t *testing.T) {
	d, _ := newDir(t)
	for _, name := range []string{"", ".", "..", "a/b", "../a", "/etc/passwd", "a\x00b"} {
		_, err := d.Open(name, os.O_RDWR|os.O_CREATE)
		_, suberr := d.Sub(name, true)
		for _, err := range []error{err, suberr, d.Write(name, nil), d.Replace(name, nil), d.AppendLines(name, nil), d.Log(name, nil), d.Rename("x", name), d.Rename(name, "x"), d.Remove(name)} {
			if err == nil {
				t.Errorf("%q was taken", name)
			}
		}
	}
}

func TestADirectoryOfOthersIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o770, 0o707, 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrNotOurs) || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o700), os.Chown(path, 65534, -1)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrNotOurs) || !strings.Contains(err.Error(), "uid 65534") {
			t.Errorf("of another user: %v", err)
		}
	}
}

func TestWhatADeadWriterLeftGoesAway(t *testing.T) {
	d, path := newDir(t)
	if err := os.WriteFile(filepath.Join(path, "f.tmp.c2c"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Replace("f", []byte("whole")); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Read("f"); err != nil || string(got) != "whole" {
		t.Errorf("read %q, %v", got, err)
	}
	if names, err := d.Names(); err != nil || len(names) != 1 {
		t.Errorf("left %q, %v", names, err)
	}
}

func TestWriteTakesAwayWhatDeadWritersLeft(t *testing.T) {
	d, path := newDir(t)
	dead := "f" + tempMark + "999999999.x"
	alive := "f" + tempMark + strconv.Itoa(os.Getppid()) + ".x"
	others := []string{"g" + tempMark + "999999999.x", "f" + tempMark + "c2c", "f" + tempMark + "python"}
	for _, name := range append(others, dead, alive) {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write("f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(others, alive, "f") {
		if _, err := d.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there, %v", dead, err)
	}
}

func TestRewriteGivesTheModeAndLeavesOtherProgramsFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	for _, name := range []string{"settings.json.tmp.999999999.1", ".c2c.tmp.999999999.1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o775); err != nil { // not private
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o600} {
		if err := Rewrite(path, []byte("{}"), mode, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("mode %v: %v, %v", mode, info, err)
		}
	}
	Sweep(path)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "settings.json" || entries[1].Name() != "settings.json.tmp.999999999.1" {
		t.Errorf("left are %v, %v", entries, err)
	}
	if err := Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("removed: %v", err)
	}
}

// The directory was renamed, and another has its place: names are still resolved below the one that
// is open.
func TestStatLooksBelowTheOpenDirectory(t *testing.T) {
	d, path := newDir(t)
	if err := errors.Join(d.Write("f", []byte("ours")), os.Symlink("f", filepath.Join(path, "link"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(path, path+"-moved"), os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "f"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if info, err := d.Stat("f"); err != nil || info.Size() != 4 {
		t.Errorf("found %v, %v", info, err)
	}
	if info, err := d.Stat("link"); err == nil && info.Mode().IsRegular() {
		t.Errorf("a link was followed: %v", info.Mode())
	}
	if _, err := d.Stat("not there"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func TestAFileThatIsTooLargeToBeOursIsNotRead(t *testing.T) {
	d, _ := newDir(t)
	if err := d.Write("f", []byte("1234")); err != nil {
		t.Fatal(err)
	}
	if data, err := d.ReadMost("f", 4); err != nil || string(data) != "1234" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := d.ReadMost("f", 3); !errors.Is(err, ErrTooLarge) || data != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := d.ReadMost("g", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestTheSizeOfAFileMovesNoReader(t *testing.T) {
	d, _ := newDir(t)
	if err := d.Write("f", []byte("1234")); err != nil {
		t.Fatal(err)
	}
	h, err := d.OpenHandle("f", os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	size, err := h.SizeNow()
	data, rerr := ReadAll(h, nil)
	if size != 4 || err != nil || rerr != nil || string(data) != "1234" {
		t.Errorf("%d bytes, %v, and then %q, %v", size, err, data, rerr)
	}
}

// Another program may replace its file while we write the new content: then the program's version
// stays.
func TestRewriteChecksWhenTheNewContentIsReady(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	changed := errors.New("changed meanwhile")
	err := Rewrite(path, []byte("ours"), 0o644, func() error {
		temps, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".c2c.tmp.*"))
		if err != nil || len(temps) != 1 {
			t.Fatalf("temporary files are %v, %v", temps, err)
		}
		info, err := os.Stat(temps[0])
		if data, rerr := os.ReadFile(temps[0]); string(data) != "ours" || err != nil || rerr != nil || info.Mode() != 0o644 {
			t.Errorf("the temporary file has %q, %v, %v, %v", data, info, err, rerr)
		}
		return errors.Join(os.WriteFile(path, []byte("theirs"), 0o600), changed)
	})
	if !errors.Is(err, changed) {
		t.Errorf("Rewrite returns %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if data, rerr := os.ReadFile(path); string(data) != "theirs" || len(entries) != 1 || err != nil || rerr != nil {
		t.Errorf("the file has %q, and beside it are %v: %v, %v", data, entries, err, rerr)
	}
}
