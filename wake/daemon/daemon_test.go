package daemon

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"c2c/inbox/atomicfile"
)

// The process id in wake.pid is another one in another PID namespace, and an old one after a crash.
func TestStopEndsTheDaemonAndNoProcessByItsNumber(t *testing.T) {
	dir, err := atomicfile.Create(filepath.Join(t.TempDir(), "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- other.Wait() }()
	defer func() { other.Process.Kill(); <-exited }()
	d := Wake(dir)
	works, ended := make(chan bool), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		ended <- d.Run(ctx, func(ctx context.Context) { close(works); <-ctx.Done() })
	}()
	<-works
	if text, err := dir.Read(d.pidFile()); err != nil || string(text) != strconv.Itoa(os.Getpid())+"\n" {
		t.Errorf("%s holds %q, %v", d.pidFile(), text, err)
	}
	if err := d.Run(ctx, nil); err == nil || !strings.Contains(err.Error(), "runs already, process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	if err := dir.Replace(d.pidFile(), []byte(strconv.Itoa(other.Process.Pid))); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("another process was ended")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := dir.Stat(d.pidFile()); err == nil {
		t.Error("the pid file stays")
	}
	if ran, err := d.Stop(t.Context()); err != nil || ran {
		t.Errorf("stopped again: %v, %v", ran, err)
	}
}
