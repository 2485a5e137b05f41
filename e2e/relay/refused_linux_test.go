package relay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/machines"
)

// The person's own ssh gets in, but the relay's does not: for it, another sshd answers, with other
// settings.
func TestAddSaysPairedOnlyWithALinkAndOtherwiseWhy(t *testing.T) {
	n := connect(t)
	ssh := n.devbox.Home + "/.ssh/"
	run := func(t *testing.T, config string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "sshd_config")
		text := fmt.Sprintf("Port 2223\nListenAddress %s\nPidFile none\nStrictModes no\nUsePAM no\n%s\n", n.devbox.Addr, config)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		words := append(n.devbox.Inside(), "/usr/sbin/sshd", "-D", "-e", "-f", path)
		machines.Serve(t, "Server listening on", words...)
	}
	known, err := os.ReadFile(n.laptop.Home + "/.ssh/known")
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.ReplaceAll(string(known), ":2222", ":2223")
	if err := os.WriteFile(n.laptop.Home+"/.ssh/known", []byte(string(known)+moved), 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *ssh_key*) set -- -o Port=2223 \"$@\";; esac\nexec /usr/bin/ssh -F %s/.ssh/conf \"$@\"\n", n.laptop.Home)
	if err := os.WriteFile(filepath.Join(n.laptop.Home, "bin", "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "host")
	if out, err := n.laptop.Cmd(nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, c := range []struct{ what, config, want string }{
		{"sshd takes passwords alone", "HostKey " + ssh + "host\nPubkeyAuthentication no\nPasswordAuthentication yes", "takes no keys"},
		{"sshd reads keys elsewhere", "HostKey " + ssh + "host\nAuthorizedKeysFile /nowhere", "sshd reads another file"},
		{"another machine answers", "HostKey " + other, "Host key verification failed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			run(t, c.config)
			out, err := n.laptop.Typed("yes", "relay", "add", "devbox", "--as", "devbox", "--name", "laptop")
			_, says, _ := strings.Cut(out, "there is no link: ")
			if err == nil || strings.Contains(out, "paired with") || !strings.Contains(says, c.want) || len(says) > 500 {
				t.Errorf("%v\n%s", err, out)
			}
			status, _ := n.laptop.Cmd(nil, "c2c", "relay", "status").CombinedOutput()
			if !strings.Contains(string(status), c.want) {
				t.Errorf("status:\n%s", status)
			}
		})
	}
}
