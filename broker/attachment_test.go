package broker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"c2c/broker"
)

func TestAnAttachmentIsARegularFileOfTheUser(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("good"), []byte("hello"), 0o600))
	must(os.WriteFile(at("empty"), nil, 0o600))
	must(os.Symlink("good", at("link")))
	must(os.Symlink("/proc/self/environ", at("environ")))
	must(os.Symlink("nowhere", at("dangling")))
	must(os.Symlink("circle", at("circle")))
	must(os.Symlink("/dev/zero", at("zero")))
	must(syscall.Mkfifo(at("pipe"), 0o600))
	must(os.WriteFile(at("large"), nil, 0o600))
	must(os.Truncate(at("large"), maxAttachment+1))
	l, err := net.Listen("unix", at("socket"))
	must(err)
	defer l.Close()
	sum := sha256.Sum256([]byte("hello"))
	real, err := filepath.EvalSymlinks(at("good"))
	must(err)
	for _, name := range []string{"good", "link", "../" + filepath.Base(dir) + "/good"} {
		f, err := broker.FileOf(dir + "/" + name)
		if err != nil || f.Path != real || f.Size != 5 || f.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if f, err := broker.FileOf(at("empty")); err != nil || f.Size != 0 || len(f.SHA256) != 64 {
		t.Errorf("%+v, %v", f, err)
	}
	for path, says := range map[string]string{
		"good": "absolute", "": "absolute", at("none"): "no such file", at("dangling"): "no such file", at("circle"): "links", dir: "not a regular file",
		at("pipe"): "not a regular file", at("zero"): "not a regular file", at("large"): "at most", at("socket"): "", at("good") + "\x00": "",
		"/proc/self/environ": "not a file on a disk", "/proc/self/root/proc/self/environ": "not a file on a disk", at("environ"): "not a file on a disk", "/proc/self/fd/0": "", "/dev/null": "not a regular file",
	} {
		if f, err := broker.FileOf(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v; want %q", path, f, err, says)
		}
	}
	if os.Geteuid() == 0 {
		must(os.Chown(at("good"), 65534, 65534))
		if _, err := broker.FileOf(at("good")); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("of another user: %v", err)
		}
	}
}
