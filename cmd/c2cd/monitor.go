package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"c2c/cmd/ringer"
	"c2c/inbox/mail"
	"c2c/serve/live"
)

// errGone means that no program reads the lines any longer.
var errGone = errors.New("nobody reads any more")

func init() { verbs["monitor"] = (*call).monitor }

func (c *call) monitor(ctx context.Context) error {
	m := monitorLines{Out: &mail.VisibleWriter{W: c.stdout}}
	c.TextVar(&m.Alias, "alias")
	c.BoolVar(&m.JSON, "json")
	if _, err := c.words(); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // otherwise the signal would kill this process
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if out, ok := c.stdout.(*os.File); ok {
		go func() { // this goroutine may run until the program ends
			if hungUp(out) {
				stop(errGone)
			}
		}()
	}
	if m.Alias == "" {
		m.Alias = c.getenv("C2C_MCP_SESSION_ID")
	}
	if isTerminal(c.stdout) && !m.JSON {
		fmt.Fprintln(c.stderr, "c2c: each event is a line from now on; Ctrl-C ends that")
	}
	defer c.app.ringer(ringer.Scope{}).StartChecking(ctx)()
	for {
		err := c.follow(ctx, &m)
		if errors.Is(err, syscall.EPIPE) || ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, live.ErrReplaced) {
			return err
		}
	}
}

// follow waits for the root and prints its events, until the root is removed or replaced.
func (c *call) follow(ctx context.Context, m *monitorLines) error {
	if err := c.awaitRoot(ctx, c.tellWait); err != nil {
		return err
	}
	b, err := c.open(c.log)
	if err != nil {
		return err
	}
	defer b.Close()
	first := true
	return live.New(b, 0).Run(ctx, func(u live.Update) error {
		if !m.Find(u.Sessions) && first {
			fmt.Fprintf(c.stderr, "c2c: no session is called %q yet: c2c list shows all of this project\n", mail.Visible(m.Alias, ""))
		}
		ready := first && m.JSON
		first = false
		if ready { // from now on, Tell prints each event
			if err := m.Ready(); err != nil {
				return err
			}
		}
		for _, e := range u.Events {
			if err := m.Tell(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// hungUp waits until no program reads from the pipe any more, and returns true. It returns false if
// it cannot find out.
func hungUp(out *os.File) bool {
	if info, err := out.Stat(); err != nil || info.Mode().IsRegular() {
		return false
	}
	for {
		poll := []unix.PollFd{{Fd: int32(out.Fd())}}
		_, err := unix.Poll(poll, -1)
		if err == nil {
			return true
		}
		if err != unix.EINTR {
			return false
		}
	}
}
