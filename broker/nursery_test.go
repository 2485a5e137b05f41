package broker_test

import (
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// nurseryVariable makes the test binary the nursery.
const nurseryVariable = "C2C_TEST_NURSERY"

// Nursery starts the processes of all tests, in a process of its own that has no locks. Between
// fork and exec a new process has a copy of each descriptor of its parent: what one test releases
// meanwhile would stay locked for a moment, because another one starts a process.
type Nursery struct {
	mu    sync.Mutex
	procs map[int]*exec.Cmd
}

// Start starts a process that ends when the nursery does, with a file open unless its path is
// empty.
func (n *Nursery) Start(open string, pid *int) error {
	cmd := exec.Command("cat")
	cmd.Env = []string{}
	if open != "" {
		f, err := os.Open(open)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.ExtraFiles = []*os.File{f}
	}
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	*pid = cmd.Process.Pid
	n.procs[*pid] = cmd
	return nil
}

// End kills a process, and returns when it is gone.
func (n *Nursery) End(pid int, _ *bool) error {
	n.mu.Lock()
	cmd := n.procs[pid]
	delete(n.procs, pid)
	n.mu.Unlock()
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	cmd.Wait() // it was killed, and says so
	return nil
}

// pipes are both directions of a connection.
type pipes struct {
	io.ReadCloser
	io.Writer
}

// nurse is the nursery until its input ends.
func nurse() error {
	s := rpc.NewServer()
	if err := s.Register(&Nursery{procs: map[int]*exec.Cmd{}}); err != nil {
		return err
	}
	s.ServeConn(pipes{os.Stdin, os.Stdout})
	return nil
}

// nursery is the connection to the nursery of this run. TestMain opens it.
var nursery *rpc.Client

func openNursery() error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nurseryVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	nursery = rpc.NewClient(pipes{out, in})
	return nil
}

// start starts a process in the nursery.
func start(t testing.TB, open string) (pid int) {
	t.Helper()
	if err := nursery.Call("Nursery.Start", open, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// end ends a process of the nursery.
func end(t testing.TB, pid int) {
	t.Helper()
	if err := nursery.Call("Nursery.End", pid, new(bool)); err != nil {
		t.Error(err)
	}
}
