package relay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/cmd/cli"
	"c2c/relay"
)

func public(t *testing.T) relay.Public {
	t.Helper()
	k, err := relay.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k.Public()
}

const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ c2c-relay"

func TestALineOfAuthorizedKeysOpensTheRelayAlone(t *testing.T) {
	host := public(t)
	line, err := AuthorizedLine("/usr/bin/c2cd", sshKey, host)
	if want := `restrict,command="/usr/bin/c2cd relay --stdio" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ c2c-relay:` + host.ID(); err != nil || line != want {
		t.Errorf("%q, %v", line, err)
	}
	for _, bad := range []string{"", "ssh-ed25519", "ssh-ed25519 AAAA\nssh-rsa BBBB", `ssh-ed25519 AAAA" x`, "command=x ssh-ed25519 AAAA"} {
		if line, err := AuthorizedLine("/usr/bin/c2cd", bad, host); err == nil {
			t.Errorf("key %q: %q", bad, line)
		}
	}
	for _, bad := range []string{"c2cd", `/a"b/c2cd`, "/a;b", "/a b/c2cd"} {
		if line, err := AuthorizedLine(bad, sshKey, host); err == nil {
			t.Errorf("program %q: %q", bad, line)
		}
	}
}

func TestAuthorizedKeysKeepsTheLinesOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".ssh", "authorized_keys")
	a, b := public(t), public(t)
	lineOf := func(p relay.Public, program string) string {
		t.Helper()
		line, err := AuthorizedLine(program, sshKey, p)
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	holds := func(want ...string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil || string(data) != strings.Join(want, "\n")+"\n" {
			t.Errorf("%q, %v\nwant %q", data, err, want)
		}
	}
	if err := Authorize(path, lineOf(a, "/old/c2cd"), a); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	own := "ssh-rsa AAAAB3 me@desk"
	if err := os.WriteFile(path, []byte(lineOf(a, "/old/c2cd")+"\n"+own), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []relay.Public{b, a, b} { // the line that is there stays in its place
		if err := Authorize(path, lineOf(p, "/new/c2cd"), p); err != nil {
			t.Fatal(err)
		}
	}
	holds(own, lineOf(b, "/new/c2cd"), lineOf(a, "/new/c2cd"))
	for _, want := range []bool{true, false} {
		if was, err := Unauthorize(path, b.ID()); err != nil || was != want {
			t.Errorf("taken out: %v, %v", was, err)
		}
	}
	holds(own, lineOf(a, "/new/c2cd"))
}

func TestAuthorizedKeysThatCannotBeWrittenIsToldAsSuch(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".ssh"), nil, 0o400); err != nil { // a directory that root may not write is hard to make
		t.Fatal(err)
	}
	path := filepath.Join(home, ".ssh", "authorized_keys")
	err := Authorize(path, "line", public(t))
	if hint := cli.FailureOf("relay", err).Hint; err == nil || !strings.Contains(hint, "let this user write "+path) {
		t.Errorf("%v, hint %q", err, hint)
	}
}
