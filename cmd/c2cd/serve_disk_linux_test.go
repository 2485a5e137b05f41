package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if out, err := h.try("serve", "start", "--port", h.port); err == nil {
		t.Errorf("it runs without a token: %s", out)
	}
	if st := h.status(); st.Running || st.Reaped {
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
