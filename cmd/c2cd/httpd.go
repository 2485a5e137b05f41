// This part runs the HTTP daemon: an HTTP server with the tools, the page, mail from outside and
// the streams of events. It also acts on the deadlines of each open root.

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/ringer"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/serve"
	"c2c/serve/outside"
	"c2c/serve/page"
	"c2c/sessions"
)

// httpHost is the HTTP daemon, with its environment.
type httpHost struct {
	State  *atomicfile.Dir // c2c's state directory
	Files  *atomicfile.Dir // the daemon's own directory, below State
	Port   int
	Getenv func(string) string
	Cwd    string
	Log    *slog.Logger
}

// projects returns the projects of this user, each with a folder that is there.
func (h *httpHost) projects() (all []page.Project) {
	for _, u := range project.All(h.Getenv) {
		if n := len(u.Folders); n > 0 {
			all = append(all, page.Project{Root: u.Root, Dir: u.Folders[n-1].Path})
		}
	}
	return all
}

func (h *httpHost) list(ctx context.Context, root string) ([]sessions.Listed, error) {
	return cli.SessionsOf(ctx, h.Getenv, root, h.Log)
}

// Run serves until ctx ends. It calls report with a serve.At when it listens. Only one process may
// serve.
func (h *httpHost) Run(ctx context.Context, report func(any)) error {
	list := outside.OpenSenders(h.Files, time.Now)
	shown := page.New(page.Config{Files: h.Files, Log: h.Log, Projects: h.projects, List: h.list})
	s := serve.New(serve.Config{
		Sender: list.Sender, Person: shown.Person,
		State: h.State, Port: h.Port, Getenv: h.Getenv, Dir: h.Cwd, Log: h.Log,
		Open: func(root string) (*broker.Broker, error) { return h.openFor(root, h.Log) },
		OpenHere: func(dir string) (*broker.Broker, error) {
			return broker.OpenHere(h.Getenv, dir, broker.Config{Log: h.Log})
		},
		Keep: h.keep,
	})
	s.Handle(shown.Routes(s.OpenRoot)...)
	files, err := h.Files.Sub("sessions", true)
	if err != nil {
		return err
	}
	defer files.Close()
	if err := s.Listen(ctx); err != nil {
		return err
	}
	at, err := s.At()
	if err != nil {
		return err
	}
	h.Log.Info("HTTP daemon runs", "process", at.PID, "url", at.URL)
	ctx, stop := context.WithCancel(ctx) // end this context also if the listener fails
	defer stop()
	wait := h.serveTools(ctx, s, files)
	s.Handle(outside.NewHooks(outside.HooksConfig{Senders: list, OpenRoot: s.OpenRoot, Files: h.Files, Log: h.Log, Now: time.Now}).Routes()...)
	s.Handle(outside.NewEvents(outside.EventsConfig{
		OpenRoot: s.OpenRoot, Log: h.Log,
		Decides: func(name string) []string {
			if one, ok := list.ByName(name); ok && one.Verdicts {
				return one.To
			}
			return nil
		},
	}).Routes()...)
	report(at)
	failed := s.Run(ctx)
	stop()
	failed = errors.Join(failed, inTime(wait))
	h.Log.Info("HTTP daemon ends")
	return failed
}

// endTime is how long the work in the roots may take when the daemon ends.
const endTime = 10 * time.Second

// inTime calls the function wait, and returns an error if it takes longer than endTime. The daemon
// then ends without it.
func inTime(wait func() error) error {
	done := make(chan error, 1)
	go func() { done <- wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(endTime):
		return errors.New("the work in some root does not end; perhaps a disk does not answer")
	}
}

// keepAgain is the pause of keep after an error.
const keepAgain = time.Minute

// keep acts on the deadlines of an open root until ctx ends or the root is gone. After an error it
// tries again.
func (h *httpHost) keep(ctx context.Context, b *broker.Broker) {
	for ctx.Err() == nil && !b.Replaced() {
		if err := ringer.CheckDeadlines(ctx, b, h.Log, h.Getenv); err != nil && ctx.Err() == nil {
			h.Log.Debug("the daemon does not act on the deadlines of this root", "root", b.Root(), "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(keepAgain):
		}
	}
}
