package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The other program is AMQ, which go install gets while the bench runs. Nothing of it is in c2c.
const (
	besideModule  = "github.com/avivsinai/agent-message-queue/cmd/amq"
	besideVersion = "v0.68.0"
)

// beside is the other program; missing says why there is none.
type beside struct{ missing error }

func newBeside(home string) *beside {
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	install := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags=-s -w", besideModule+"@"+besideVersion)
	install.Dir = home // not in this module
	install.Env = append(install.Environ(), "GOBIN="+filepath.Join(home, "amq"), "GOFLAGS=-buildvcs=false")
	out, err := install.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return &beside{fmt.Errorf("go install has not got it (%s)", strings.TrimSpace(lines[len(lines)-1]))}
	}
	_, err = (&world{home: home}).amq("init", "--agents", "amber,birch,cedar")
	return &beside{err}
}

// amq runs the other program on its own root.
func (w *world) amq(verb string, args ...string) ([]float64, error) {
	args = append([]string{verb, "--root", filepath.Join(w.home, "amq-root")}, args...)
	return one(w.time(filepath.Join(w.home, "amq", "amq"), args...))
}

func otherSend(to string) action {
	return func(w *world) ([]float64, error) {
		return w.amq("send", "--me", "birch", "--to", to, "--body", "hello")
	}
}

func otherStream(senders int) action {
	return func(w *world) ([]float64, error) {
		each := 24 / senders
		argv := []string{filepath.Join(w.home, "amq", "amq"), "send", "--root", filepath.Join(w.home, "amq-root"),
			"--me", "birch", "--to", "amber", "--body", "hello"}
		start := time.Now()
		_, err := w.together(senders, each, func(int) []string { return argv })
		return one(since(start)/float64(each*senders), err)
	}
}
