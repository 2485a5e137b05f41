package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/project"
	"c2c/rooms"
	"c2c/serve"
	"c2c/serve/page"
)

const (
	lookAgain = 50 * time.Millisecond // between two checks while the daemon begins or ends
	reapTime  = 10 * time.Second      // how long Reap waits for another process's lock
)

// httpDaemon is the HTTP daemon of this user, and has what the verbs of c2c serve need to handle
// it.
type httpDaemon struct {
	daemon.Daemon
	State *atomicfile.Dir // nil: c2c has no state directory yet
	Port  int
	a     *app
	dir   string // the daemon's working directory; clients that name no directory get the root of this directory
}

// serve runs the verbs of c2c serve.
func (a *call) serve(ctx context.Context) error {
	unit, asJSON := a.Bool("unit"), a.Bool("json")
	port := a.Text("port")
	verbs, err := a.words()
	if err != nil {
		return err
	}
	if *unit {
		verbs = append(verbs, "unit")
	}
	if len(verbs) != 1 {
		return fmt.Errorf("%w: one of start, stop, restart, run, status, rotate-token and --unit", errUsage)
	}
	verb := verbs[0]
	at, err := a.httpPort(*port)
	if err != nil {
		return err
	}
	if verb == "unit" {
		return printUnit(a.stdout, a.c2c, a.cwd, a.getenv)
	}
	d, err := a.httpDaemon(verb != "status" && verb != "stop")
	if err != nil {
		return err
	}
	defer d.Close()
	d.Port = at
	if verb == "rotate-token" {
		return d.rotateToken()
	}
	err = a.daemonVerb(ctx, d, verb, *asJSON)
	if err == nil && verb == "stop" {
		a.setup().TellOverHTTP("its tools use HTTP, and do not work until c2c serve start", "; until then, c2c install %s --http makes them use stdio")
	}
	return err
}

// httpPort returns the port from the option --port, or from the variable PortVariable;
// serve.LastPort if neither is set.
func (a *app) httpPort(option string) (int, error) {
	for _, from := range [][2]string{{"--port", option}, {portVariable, a.getenv(portVariable)}} {
		if from[1] == "" {
			continue
		}
		port, err := serve.ParsePort(from[1])
		if err != nil {
			return 0, fmt.Errorf("%w: %s %q: %w", errUsage, from[0], from[1], err)
		}
		return port, nil
	}
	return serve.LastPort, nil
}

// openHTTP opens the files of the HTTP daemon. If create is true, it makes missing files.
func openHTTP(getenv func(string) string, create bool) (*httpDaemon, error) {
	path, source := project.StateDir(getenv)
	if path == "" || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("find the state directory: set XDG_STATE_HOME or HOME to an absolute path (%s is %q)", source, path)
	}
	d := &httpDaemon{Daemon: daemon.Daemon{Name: "serve", What: "HTTP daemon", Verb: "serve"}}
	open := atomicfile.Open
	if create {
		open = atomicfile.Create
	}
	state, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	d.State = state
	d.Dir, err = state.Sub(serve.FilesDir, create)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, state.Close())
	}
	return d, nil
}

// Close closes the files.
func (d *httpDaemon) Close() {
	if d.Dir != nil {
		d.Dir.Close()
	}
	if d.State != nil {
		d.State.Close()
	}
}

// Settled returns the daemon's process, 0 if none runs, and whether it answers. A killed daemon
// still holds its lock for a moment, and a new daemon does not answer yet. So Settled checks again
// and again until answerTime is over.
func (d *httpDaemon) Settled(ctx context.Context) (pid int, up bool, err error) {
	late := time.After(answerTime)
	for {
		if pid, err = d.PID(); err != nil || pid == 0 {
			return 0, false, err
		}
		if at, err := serve.ReadAt(d.State); err == nil && answers(ctx, at.Port) {
			return pid, true, nil
		}
		select {
		case <-ctx.Done():
			return pid, false, context.Cause(ctx)
		case <-late:
			return pid, false, nil
		case <-time.After(lookAgain):
		}
	}
}

// Reap removes the port file that a killed daemon has left, and reports whether there was one.
func (d *httpDaemon) Reap(ctx context.Context) (bool, error) {
	if d.Dir == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reapTime)
	defer cancel()
	return serve.Reap(ctx, d.State, d.Runs)
}

// httpDaemon opens the files of the daemon, for a verb.
func (a *app) httpDaemon(create bool) (*httpDaemon, error) {
	d, err := openHTTP(a.getenv, create)
	if err == nil {
		d.a, d.dir = a, a.cwd
	}
	return d, err
}

// run runs the daemon itself.
func (d *httpDaemon) run(ctx context.Context) error {
	h := &httpHost{State: d.State, Files: d.Dir, Port: d.Port, Getenv: d.a.getenv, Cwd: d.a.cwd, Log: d.a.log}
	return h.Run(ctx, func(prepare func() error, run func(context.Context)) error {
		d.Prepare = func() error { return explainPort(prepare()) }
		return d.Run(ctx, run)
	})
}

// explainPort adds a hint to the errors for a port in use and for an invalid token.
func explainPort(err error) error {
	if taken := new(serve.TakenError); errors.As(err, &taken) {
		return cli.WithHint(err, fmt.Sprintf("ss -ltnp 'sport = :%d' shows that program; c2c serve start --port 0 uses a free port, but then clients need the new URL", taken.Port))
	}
	if errors.Is(err, serve.ErrToken) {
		return cli.WithHint(err, "c2c serve rotate-token makes a new one")
	}
	return err
}

// start starts the daemon, and prints where it listens.
func (d *httpDaemon) start(ctx context.Context) error {
	switch pid, up, err := d.Settled(ctx); {
	case err != nil:
		return err
	case pid != 0 && !up:
		return cli.WithHint(fmt.Errorf("%s runs already, process %d, and does not answer", d.What, pid), "c2c serve restart ends it, and starts another one")
	case pid != 0:
		if at, err := serve.ReadAt(d.State); err == nil && d.Port > 0 && at.Port != d.Port {
			return cli.WithHint(fmt.Errorf("%s runs already, process %d, at port %d", d.What, pid, at.Port), fmt.Sprintf("c2c serve restart --port %d moves it", d.Port))
		}
		fmt.Fprintf(d.a.stdout, "%s runs already, process %d\n", d.What, pid)
		return d.printURL()
	}
	if _, err := d.Reap(ctx); err != nil {
		return err
	}
	args := []string{"serve", "run"}
	if d.Port != serve.LastPort {
		args = append(args, "--port", strconv.Itoa(d.Port))
	}
	if err := d.a.startDaemon(ctx, d.Daemon, d.dir, daemonEnv(httpSettings()...), args...); err != nil {
		return err
	}
	return d.printURL()
}

func (d *httpDaemon) printURL() error {
	at, err := serve.ReadAt(d.State)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the daemon has ended again
	}
	if err == nil {
		fmt.Fprintf(d.a.stdout, "url %s\ntoken in %s\n", at.URL, serve.TokenFile(d.State))
	}
	return err
}

func (d *httpDaemon) stop(ctx context.Context) error {
	if err := d.a.stopDaemon(ctx, d.Daemon); err != nil {
		return err
	}
	_, err := d.Reap(ctx)
	return err
}

func (d *httpDaemon) status(ctx context.Context) (printer, bool, error) {
	st, err := d.Look(ctx, d.a.c2c+"d")
	return st, st.Answers, err
}

// reuse makes the new daemon use the working directory of the daemon that runs, or that was killed.
func (d *httpDaemon) reuse() error {
	if at, err := serve.ReadAt(d.State); err == nil && filepath.IsAbs(at.Dir) {
		if info, err := os.Stat(at.Dir); err == nil && info.IsDir() {
			d.dir = at.Dir
		}
	}
	return nil
}

func (d *httpDaemon) rotateToken() error {
	if err := serve.RotateToken(d.State); err != nil {
		return err
	}
	// A program that got the old token may have got the login of an open page, too.
	if err := page.EndLogins(d.Dir); err != nil {
		return fmt.Errorf("the token is new, but the logins of the page were not ended: %w", err)
	}
	fmt.Fprintf(d.a.stdout, "the token is a new one, in %s; the old one is not accepted any more, so put the new one into each client that uses c2c serve\n"+
		"all logins of the page have ended: c2c open logs in again\n", serve.TokenFile(d.State))
	d.a.setup().TellOverHTTP("it has the old token", ": c2c install %s --http")
	return nil
}

// portVariable is the variable that sets the daemon's port.
const portVariable = "C2C_HTTP_PORT"

// httpSettings are the variables that the daemon obeys.
func httpSettings() []string {
	return []string{"C2C_MCP_BROKER_ROOT", owed.HopsVariable, rooms.WakesVariable}
}

// printUnit prints a systemd unit that runs a program in a directory.
func printUnit(out io.Writer, program, dir string, getenv func(string) string) error {
	u := daemon.Unit{Name: "c2c-serve", Description: "c2c over HTTP, on this machine alone", Program: program, Verb: "serve run", Dir: dir,
		Variables: append([]string{"XDG_STATE_HOME", portVariable}, httpSettings()...)}
	return u.Print(out, getenv)
}
