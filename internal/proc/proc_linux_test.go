//go:build linux

package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

func TestANameIsNoField(t *testing.T) {
	const rest = " S 10 11 12 34816 13 0 0 0 0 0 0 0 0 0 0 0 0 0 777 0"
	want := Stat{Parent: 10, Group: 11, Terminal: 34816, Foreground: 13, Start: 777}
	for _, name := range []string{"(sh)", "(a) Z 1 (b)", "(x\n) S 1 2"} {
		if got, err := parse(1, "1 "+name+")"+rest); err != nil || got != want {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}

// A Go program calls execve from any of its threads, and the first one is a zombie then until it is
// done.
func TestAProcessLivesWithoutItsFirstThread(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCSTAT_END_FIRST_THREAD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "zombie\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if s, err := Read(cmd.Process.Pid); err != nil || s.Parent != os.Getpid() {
		t.Errorf("%+v, %v", s, err)
	}
	in.Close()
	cmd.Wait()
	if s, err := Read(cmd.Process.Pid); !errors.Is(err, ErrNone) {
		t.Errorf("after its end: %+v, %v", s, err)
	}
}

func init() { runtime.LockOSThread() } // so that main is the first thread

func TestMain(m *testing.M) {
	if os.Getenv("PROCSTAT_END_FIRST_THREAD") == "" {
		os.Exit(m.Run())
	}
	go func() {
		for {
			data, _ := os.ReadFile("/proc/self/stat")
			if _, err := parse(os.Getpid(), string(data)); err != nil {
				break
			}
		}
		fmt.Println("zombie")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestWhatIsNoProcess(t *testing.T) {
	if _, err := parse(1, "1 (sh) Z 10 11 12 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 777"); !errors.Is(err, ErrNone) {
		t.Errorf("a zombie: %v", err)
	}
	if _, err := Read(1 << 30); !errors.Is(err, ErrNone) {
		t.Errorf("an id that cannot be: %v", err)
	}
	for _, stat := range []string{"", "1 (sh) S 10", "1 (sh) S x 11 12 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 777"} {
		if _, err := parse(1, stat); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", stat, err)
		}
	}
}
