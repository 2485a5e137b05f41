package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/cmd/ringer"
	"c2c/cmd/watch"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake/terminal"
)

// silent returns the app without its log, which would overwrite what is on the screen.
func (a *app) silent() *app {
	silent := *a
	silent.log = slog.New(slog.DiscardHandler)
	return &silent
}

// isTerminal reports whether a person can see what is written to out.
func isTerminal(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && terminal.IsTerminal(file)
}

func init() { verbs["watch"] = (*call).watch }

// watch shows the root on the whole screen.
func (c *call) watch(ctx context.Context) error {
	session := c.Text("session-id")
	if _, err := c.words(); err != nil {
		return err
	}
	user := callers.UserHere(c.getenv, c.stdin)
	if !user.IsTyping() || !isTerminal(os.Stdout) {
		return errors.New("watch needs a terminal; c2c monitor writes lines instead")
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	caller := callers.Caller{Explicit: *session, Getenv: c.getenv, User: user}
	silent := c.silent()
	first := ""                               // the root that the screen begins with; "": that of this directory
	if cli.NeedRoot(c.getenv, c.cwd) != nil { // in a folder without sessions the person wants to see the others
		if all, _ := cli.Everywhere(ctx, c.getenv, c.cwd, silent.log); len(all) > 0 && !all[0].IsQuiet() {
			first = all[0].Root
		}
	}
	if first == "" {
		if err := c.awaitRoot(ctx, c.tellWait); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	defer silent.ringer(ringer.Scope{}).StartChecking(ctx)()
	return watch.Run(ctx, watch.Config{
		Open: func(ctx context.Context, root string) (*broker.Broker, error) {
			return silent.openToWatch(ctx, cmp.Or(root, first))
		},
		Name: func(root string) string { return cli.NameOf(c.getenv, root) },
		Look: silent.around,
		Show: showTerminal,
		Who: func(ctx context.Context, b *broker.Broker) (sessions.Session, error) {
			s, err := b.Attach(ctx, caller)
			if err != nil {
				return s, fmt.Errorf("%w; name the session that writes: c2c watch --session-id NAME", err)
			}
			return s, nil
		},
		Left: c.stderr,
	})
}

// openToWatch opens another root, or for "" that of the caller, for which it waits: it may be
// removed while the screen shows it.
func (a *app) openToWatch(ctx context.Context, root string) (*broker.Broker, error) {
	if root != "" {
		return broker.OpenThere(a.getenv, root, a.log)
	}
	if err := a.awaitRoot(ctx, func(error) {}); err != nil {
		return nil, err
	}
	return a.open(a.log)
}

// around reads what the screen shows besides the sessions and the mail of a root.
func (a *app) around(ctx context.Context, b *broker.Broker) (around watch.Around, err error) {
	all, _ := cli.Everywhere(ctx, a.getenv, a.cwd, a.log) // what cannot be read is seen in that project
	for _, p := range all {
		if !p.IsQuiet() || p.Root == b.Root() {
			running, needing, mails := p.Counts()
			around.Projects = append(around.Projects, watch.Project{Name: p.Name, Root: p.Root, Sessions: running + needing, Needs: needing, Mails: mails})
		}
	}
	hosts, err := b.Hosts()
	for _, h := range hosts {
		if h.Linked {
			around.Machines++
		}
	}
	var rerr error
	around.Remote, rerr = b.RemoteSessions()
	around.Rooms = map[string][]string{}
	own, lerr := b.Sessions(ctx)
	for _, s := range own {
		if s.Facts.InRooms {
			around.Rooms[s.ID], _ = rooms.StoreOf(b.Registry).Of(s.ID) // a member whose file is damaged has no rooms here
		}
	}
	return around, errors.Join(err, rerr, lerr)
}

// showTerminal brings the pane of tmux to the front in which the client of a session runs.
func showTerminal(ctx context.Context, b *broker.Broker, l sessions.Listed) error {
	if l.PID == 0 || l.State != sessions.Alive && l.State != sessions.Away {
		return fmt.Errorf("c2c knows no terminal of %s", l.Alias)
	}
	pane, err := terminal.PaneHere(sessions.EnvironmentOf(b.Processes.Environ(l.PID)))
	if err != nil {
		return fmt.Errorf("%s is process %d, and not in a pane of tmux that c2c sees", l.Alias, l.PID)
	}
	return terminal.Show(ctx, pane)
}
