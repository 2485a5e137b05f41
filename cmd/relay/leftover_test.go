package relay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/relay"
)

func TestUninstallNamesWhatStaysOfTheMailToOtherMachines(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	if lines := Leftovers(getenv); lines != nil {
		t.Errorf("nothing was ever paired: %q", lines)
	}
	r, err := Open(getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var keys string
	for _, name := range []string{"devbox", "mini"} {
		key := public(t)
		if err := r.Hosts(time.Now).Add(t.Context(), relay.Host{Name: name, Carrier: relay.SSH, Key: key}); err != nil {
			t.Fatal(err)
		}
		line, err := AuthorizedLine("/usr/bin/c2cd", sshKey, key)
		if err != nil {
			t.Fatal(err)
		}
		keys += line + "\n"
	}
	err = errors.Join(os.Mkdir(filepath.Join(home, ".ssh"), 0o700),
		os.WriteFile(AuthorizedKeys(getenv), []byte(keys+"ssh-rsa AAAAB3 me@desk\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(Leftovers(getenv), "\n")
	for _, want := range []string{"devbox, mini; c2c relay remove NAME", fmt.Sprintf("lines of c2c in %s stay: 2;", AuthorizedKeys(getenv))} {
		if !strings.Contains(said, want) {
			t.Errorf("it says\n%s\nand not %q", said, want)
		}
	}
	if err := os.WriteFile(filepath.Join(r.Dir.Path(), "hosts.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(Leftovers(getenv), "\n"); !strings.Contains(said, "is damaged") {
		t.Errorf("a damaged list: %s", said)
	}
}

func TestAVerbOfTheRelayTakesItsOwnOptionsAndWords(t *testing.T) {
	home := t.TempDir()
	for line, want := range map[string]string{
		"":                "relay needs a verb: add, ",
		"bogus":           `relay "bogus": want add, `,
		"list x":          `unexpected "x": relay list takes no words`,
		"add":             "relay add takes <user@host>",
		"add a b":         "relay add takes <user@host>",
		"list --ssh x":    "relay list has no option --ssh",
		"pair a b":        "relay pair takes [text]",
		"allow devbox":    "give --aliases or --projects",
		"hub":             "hub FLEET --hosts NAME,NAME",
		"--json list":     "",
		"list --json":     "",
		"status --listen": "relay status has no option --listen",
	} {
		out, err := person(t, home, strings.Fields(line)...)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q\n%s", line, err, want, out)
		}
	}
}
