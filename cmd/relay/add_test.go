package relay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"c2c/cmd/cli"
	"c2c/relay"
)

// ssh may leave a process behind that keeps its output open, for the next connections.
func TestAddEndsThoughSSHLeavesItsOutputOpen(t *testing.T) {
	home, there := t.TempDir(), t.TempDir()
	pipe := filepath.Join(home, "pipe")
	script := fmt.Sprintf("#!/bin/sh\n(exec 3<>%s; read line <&3) &\n%s=exchange exec %s \"$@\"\n", pipe, asSSH, os.Args[0])
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(filepath.Join(home, "ssh"), []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the process that was left ends
		if f, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
			fmt.Fprintln(f)
			f.Close()
		}
	})
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	out, err := person(t, home, "add", there, "--as", "devbox", "--dry-run")
	if err != nil || !strings.Contains(out, "on devbox, into ~/.ssh/authorized_keys") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAddSaysWhatToDoWhenSSHFails(t *testing.T) {
	home := t.TempDir()
	for code, want := range map[int]string{
		255: "pair again when 'ssh me@nowhere true' works",
		127: "install c2c there",
	} {
		if err := os.WriteFile(filepath.Join(home, "ssh"), fmt.Appendf(nil, "#!/bin/sh\nexit %d\n", code), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", home+":"+os.Getenv("PATH"))
		_, err := person(t, home, "add", "me@nowhere", "--as", "devbox", "--dry-run")
		if hint := cli.FailureOf("relay", err).Hint; !strings.Contains(hint, want) {
			t.Errorf("exit %d: %v, hint %q", code, err, hint)
		}
	}
}

// The names of the machines are their hostnames, if nobody says otherwise.
func TestMachinesWithTheSameHostnameNeedOtherNames(t *testing.T) {
	home, there := t.TempDir(), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=exchange exec %s \"$@\"\n", asSSH, os.Args[0])
	if err := os.WriteFile(filepath.Join(home, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	said, err := person(t, there, "pair", "--ssh", "me@there")
	if err != nil {
		t.Fatal(err)
	}
	isInvitation := func(word string) bool { _, err := relay.ParseInvitation(word); return err == nil }
	words := strings.Fields(said)
	invitation := words[slices.IndexFunc(words, isInvitation)]
	for verb, word := range map[string]string{"add": there, "pair": invitation} {
		out, err := person(t, home, verb, word, "--dry-run")
		if err == nil || strings.Contains(out, "may write") {
			t.Errorf("%s: %v\n%s", verb, err, out)
		} else if hint := cli.FailureOf("relay", err).Hint; !strings.Contains(hint, "--as devbox --name laptop") {
			t.Errorf("%s: %v, hint %q", verb, err, hint)
		}
		if out, err := person(t, home, verb, word, "--dry-run", "--as", "devbox", "--name", "laptop"); err != nil {
			t.Errorf("%s: %v\n%s", verb, err, out)
		}
	}
}
