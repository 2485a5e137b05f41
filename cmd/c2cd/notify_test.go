package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"c2c/broker/owed"
	"c2c/internal/atomicfile"
)

// newAsked has amber and birch, and a question that birch can answer.
func newAsked(t *testing.T) *keeper {
	t.Helper()
	t.Parallel()
	k := newKeeper(t)
	k.run("register", "amber", "--session-id", "amber")
	k.run("register", "birch", "--session-id", "birch")
	k.run("send", "birch", "build it", "--from", "amber")
	k.run("poll-inbox", "--session-id", "birch")
	return k
}

func TestAnAgentIsToldOnceThatAnotherIsDone(t *testing.T) {
	k := newAsked(t)
	if out := k.run("notify", "birch", "--when", "done", "--from", "amber"); out != "amber gets one notice, as mail, when birch is done\n" {
		t.Errorf("asked: %s", out)
	}
	k.run("reply", "half of it", "--from", "birch")
	if out := k.run("notify"); !strings.HasPrefix(out, "amber is told when birch is done, since ") {
		t.Errorf("what waits: %s", out)
	}
	for range 2 {
		k.run("reply", "--done", "all of it", "--from", "birch")
	}
	if out := k.run("notify", "--json"); out != "[]\n" {
		t.Errorf("what waits: %s", out)
	}
	if out := k.run("poll-inbox", "--session-id", "amber"); strings.Count(out, "birch says that it is done") != 1 {
		t.Errorf("amber reads %s", out)
	}
	k.run("notify", "birch", "--when", "done", "--from", "amber")
	if out := k.run("notify", "birch", "--off", "--from", "amber"); out != "no notice about birch any more\n" {
		t.Errorf("off: %s", out)
	}
}

// waits starts a command that waits until birch is done, and returns it when it waits.
func (k *keeper) waits() (cmd *exec.Cmd, out, errs io.Reader) {
	k.t.Helper()
	cmd = k.command("notify", "birch", "--when", "done", "--wait", "--from", "amber")
	said, err := cmd.StderrPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	w.Close()
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); !strings.Contains(line, "waiting until birch is done") {
		k.t.Fatalf("%q, %v", line, err)
	}
	return cmd, r, lines
}

func TestAWaitEndsWithItsRequest(t *testing.T) {
	k := newAsked(t)
	cmd, out, errs := k.waits()
	defer cmd.Process.Kill()
	k.run("notify", "birch", "--off", "--from", "amber")
	said, _ := io.ReadAll(errs)
	if printed, _ := io.ReadAll(out); len(printed) > 0 || !strings.Contains(string(said), "the request was cancelled") {
		t.Errorf("%q, %q", printed, said)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it succeeds")
	}
}

func TestOneWaitThatIsStoppedLeavesTheOther(t *testing.T) {
	k := newAsked(t)
	one, _, _ := k.waits()
	other, out, _ := k.waits()
	defer other.Process.Kill()
	if err := one.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	one.Wait()
	k.run("reply", "--done", "all of it", "--from", "birch")
	if said, _ := io.ReadAll(out); string(said) != "birch says that it is done.\n" {
		t.Errorf("it prints %q", said)
	}
	other.Wait()
}

// A suspended process may hold the lock of the requests.
func TestAWaitCanBeStoppedAlthoughTheRequestsAreLocked(t *testing.T) {
	k := newAsked(t)
	cmd, _, _ := k.waits()
	dir, err := atomicfile.Open(k.root())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := atomicfile.Acquire(t.Context(), dir, owed.NotifyLock)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer kill.Stop()
	if cmd.Wait(); !cmd.ProcessState.Exited() {
		t.Errorf("it waits for the lock: %s", cmd.ProcessState)
	}
}

// The one that waits has the notice, and the mailbox does not. If it is killed, the notice is mail.
func TestWhoWaitsHasTheNoticeOrFindsItAsMail(t *testing.T) {
	k := newAsked(t)
	waits := func() (out io.Reader, kill func()) {
		cmd, out, _ := k.waits()
		return out, func() { cmd.Process.Kill(); cmd.Wait() }
	}
	out, kill := waits()
	k.run("reply", "--done", "all of it", "--from", "birch")
	if said, _ := io.ReadAll(out); string(said) != "birch says that it is done.\n" {
		t.Errorf("it prints %q", said)
	}
	kill()
	if out := k.run("poll-inbox", "--session-id", "amber"); strings.Contains(out, "says that it is done") {
		t.Errorf("it is mail, too: %s", out)
	}
	_, kill = waits()
	kill()
	k.run("reply", "--done", "again", "--from", "birch")
	if out := k.run("poll-inbox", "--session-id", "amber"); strings.Count(out, "says that it is done") != 1 {
		t.Errorf("after the kill: %s", out)
	}
}

// The command of a person at a terminal ends at once, and the notice comes as mail and on the desktop.
func TestAPersonIsToldByMailAndOnTheDesktop(t *testing.T) {
	k := newAsked(t)
	tool := filepath.Join(t.TempDir(), "notify-send")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := k.command("notify", "birch", "--when", "done")
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(tool)+":"+os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=/bus", "USER=ada")
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if out, _ := io.ReadAll(terminal); !strings.Contains(string(out), "ada gets one notice, as mail and on the desktop, when birch is done\r\n") {
		t.Errorf("it says %q", out)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	var all []owed.Request
	if err := json.Unmarshal([]byte(k.run("notify", "--json")), &all); err != nil || len(all) != 1 || !all[0].Desktop {
		t.Errorf("%v, %+v", err, all)
	}
}

func TestWithoutADesktopItEndsAtOnceToo(t *testing.T) {
	k := newAsked(t)
	cmd := k.command("notify", "birch", "--when", "done", "--desktop")
	cmd.Env = append(cmd.Env, "DBUS_SESSION_BUS_ADDRESS=", "XDG_RUNTIME_DIR="+t.TempDir())
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	in := bufio.NewReader(terminal)
	for line := ""; !strings.Contains(line, "gets one notice, as mail"); {
		if line, err = in.ReadString('\n'); err != nil || strings.Contains(line, "waiting until") {
			cmd.Process.Kill()
			t.Fatalf("%q: %v", line, err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestNotifyRefusesWhatItCannotSee(t *testing.T) {
	k := newAsked(t)
	for want, args := range map[string][]string{
		"no such alias":       {"nobody", "--when", "idle"},
		"want idle, ended":    {"birch", "--when", "often"},
		"an alias and":        {"birch"},
		"this session itself": {"amber", "--when", "idle"},
	} {
		if out, err := k.try(append([]string{"notify", "--from", "amber"}, args...)...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}
