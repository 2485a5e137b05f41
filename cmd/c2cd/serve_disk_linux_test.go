package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"c2c/e2e/namespace"
)

// fillDisk leaves nothing free on the disk of a file.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 4096; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	f.Close()
}

func TestServeOnAFullDiskRefusesAndKeepsTheToken(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	h := newHost(t)
	h.home = namespace.Disk(t, "256k")
	filler := filepath.Join(h.home, "filler")
	fillDisk(t, filler)
	if out, err := h.try("serve", "start", "--port", h.port); err == nil || !strings.Contains(out, "no space left") {
		t.Errorf("it runs without a token, or gives no reason: %s", out)
	}
	if st := h.status(); st.Running {
		t.Errorf("%+v", st)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	h.run("serve", "start", "--port", h.port)
	defer h.run("serve", "stop") // before the disk goes
	token := h.token()
	fillDisk(t, filler)
	if out, err := h.try("serve", "rotate-token"); err == nil || !strings.Contains(out, "no space left") {
		t.Errorf("rotate-token: %v, %s", err, out)
	}
	if code, _ := h.get("/metrics", token); code != 200 || h.token() != token {
		t.Errorf("the token that is kept: %d", code)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
}

// The reason why no mail comes may be the disk: doctor says so, and changes nothing.
func TestDoctorSaysThatTheDiskIsFullOrReadOnly(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	h := newHost(t)
	h.home = namespace.Disk(t, "256k")
	if out, _ := h.try("doctor"); strings.Contains(out, "disk") {
		t.Errorf("with room: %s", out)
	}
	fillDisk(t, filepath.Join(h.home, "filler"))
	if out, _ := h.try("doctor"); !strings.Contains(out, "problem  disk: full (0 bytes free), so mail cannot be sent: free some space ("+h.home+")") {
		t.Errorf("on a full disk: %s", out)
	}
	if err := unix.Mount("", h.home, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if out, _ := h.try("doctor"); !strings.Contains(out, "problem  disk: read-only, so mail cannot be sent or handed over: make it writable, or set HOME") {
		t.Errorf("on a read-only disk: %s", out)
	}
}
