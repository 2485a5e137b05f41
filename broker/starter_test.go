package broker_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"c2c/broker"
	"c2c/sessions/callers"
)

// A client starts its hooks in a session of their own, by way of a shell or not.
func TestTheStarterOfOurSessionIsFound(t *testing.T) {
	const variable = "C2C_TEST_STARTER"
	if root := os.Getenv(variable); root != "" {
		b, err := broker.Open(broker.Config{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		for own, _ := unix.Getsid(0); os.Getenv(variable+"_ORPHAN") != ""; runtime.Gosched() {
			if parents, err := unix.Getsid(os.Getppid()); err == nil && parents != own {
				break // our own parent has ended
			}
		}
		var isClient func(pid int) bool
		if pid, err := strconv.Atoi(os.Getenv(variable + "_CLIENT")); err == nil {
			isClient = func(p int) bool { return p == pid }
		}
		fmt.Printf("starter %d\n", callers.Starter(b.Processes, isClient))
		os.Exit(0)
	}
	ours := fmt.Sprintf("%s_CLIENT=%d", variable, os.Getpid())
	for line, knows := range map[string]string{
		`exec "$0" "$1"`: "", `"$0" "$1"; true`: "", `sh -c '"$0" "$1"; true' "$0" "$1"`: "",
		`"$0" "$1"`: ours, `setsid -w "$0" "$1"; true`: ours, `setsid -w setsid -w "$0" "$1"`: ours, // a process in between, as Qwen Code may have one
		`exec "$0" "$1"; true`: variable + "_CLIENT=0", // a client that tells of no process
	} {
		cmd := exec.Command("sh", "-c", line, os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+t.TempDir()+"/root", knows)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if want := fmt.Sprintf("starter %d\n", os.Getpid()); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s, want %s", line, err, out, want)
		}
	}
}

// A program that was left in the background is in the session of a terminal, but not below who has
// started that.
func TestAProcessThatIsNotBelowItsLeaderHasNoStarter(t *testing.T) {
	const started = "TestTheStarterOfOurSessionIsFound"
	cmd := exec.Command("sh", "-c", `("$0" "$1" &); read line`, os.Args[0], "-test.run=^"+started+"$")
	cmd.Env = append(os.Environ(), "C2C_TEST_STARTER="+t.TempDir()+"/root", "C2C_TEST_STARTER_ORPHAN=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	leader, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "starter 0\n" {
		t.Errorf("%q, %v", line, err)
	}
	fmt.Fprintln(leader)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
