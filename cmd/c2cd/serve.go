package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	daemon.Part
	State, Files *atomicfile.Dir // the state directory, and that of its files; nil: it does not exist yet
	Port         int
	a            *app
	dir          string // clients that name no directory get the root of this directory
}

// serve runs the verbs of c2c serve.
func (a *call) serve(ctx context.Context) error {
	asJSON, port := a.Bool("json"), a.Text("port")
	verbs, err := a.words()
	if err != nil {
		return err
	}
	if len(verbs) != 1 {
		return fmt.Errorf("%w: one of start, stop, restart, run, status and rotate-token", errUsage)
	}
	verb := verbs[0]
	at, err := a.httpPort(*port)
	if err != nil {
		return err
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
	err = a.backgroundVerb(ctx, d, verb, *asJSON)
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
	path, err := project.FindStateDir(getenv)
	if err != nil {
		return nil, err
	}
	all, err := daemon.Open(path, create)
	if err != nil {
		return nil, err
	}
	d := &httpDaemon{Part: partOf(all, servePart, "")}
	open := atomicfile.Open
	if create {
		open = atomicfile.Create
	}
	if d.State, err = open(path); err == nil {
		d.Files, err = d.State.Sub(serve.FilesDir, create)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the files.
func (d *httpDaemon) Close() {
	d.Part.Close()
	for _, dir := range []*atomicfile.Dir{d.State, d.Files} {
		if dir != nil {
			dir.Close()
		}
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

// Reap removes the port file that a killed daemon has left, and reports whether there was one. A
// daemon that begins does so, too.
func (d *httpDaemon) Reap(ctx context.Context) (bool, error) {
	if d.State == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reapTime)
	defer cancel()
	return serve.Reap(ctx, d.State, d.Daemon.Runs)
}

// reapServe is Reap for the daemon itself.
func (a *app) reapServe(ctx context.Context) {
	d, err := openHTTP(a.getenv, false)
	if err == nil && d.State != nil {
		defer d.Close()
		_, err = serve.Reap(ctx, d.State, func() (bool, error) { return false, nil })
	}
	if err != nil {
		a.log.Warn("where the last HTTP daemon has listened may be shown still", "err", err)
	}
}

// httpDaemon opens the files of the daemon, for a verb.
func (a *app) httpDaemon(create bool) (*httpDaemon, error) {
	d, err := openHTTP(a.getenv, create)
	if err == nil {
		d.a, d.dir = a, a.cwd
	}
	return d, err
}

// record returns what the part gets: where it listens, and the directory of the shell.
func (d *httpDaemon) record() daemon.Record {
	settings := map[string]string{"dir": d.dir}
	if d.Port != serve.LastPort {
		settings["port"] = strconv.Itoa(d.Port)
	}
	return daemon.Record{Env: partEnv("C2C_MCP_BROKER_ROOT", owed.HopsVariable, rooms.WakesVariable), Settings: settings}
}

// runServe runs the part of the daemon.
func runServe(ctx context.Context, a *app, r daemon.Record, _ string, ready func()) error {
	d, err := openHTTP(a.getenv, true)
	if err != nil {
		return err
	}
	defer d.Close()
	port := serve.LastPort
	if text := r.Settings["port"]; text != "" {
		if port, err = serve.ParsePort(text); err != nil {
			return err
		}
	}
	h := &httpHost{State: d.State, Files: d.Files, Port: port, Getenv: a.getenv, Cwd: r.Settings["dir"], Log: a.log}
	return explainPort(h.Run(ctx, ready))
}

func (d *httpDaemon) run(ctx context.Context) error { return d.a.runPart(ctx, d.Part, d.record()) }

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
		return cli.WithHint(fmt.Errorf("%s runs already, process %d, and does not answer", d.Name, pid), "c2c serve restart ends it, and starts another one")
	case pid != 0:
		if at, err := serve.ReadAt(d.State); err == nil && d.Port > 0 && at.Port != d.Port {
			return cli.WithHint(fmt.Errorf("%s runs already, process %d, at port %d", d.Name, pid, at.Port), fmt.Sprintf("c2c serve restart --port %d moves it", d.Port))
		}
		fmt.Fprintf(d.a.stdout, "%s runs already, process %d\n", d.Name, pid)
		return d.printURL()
	}
	if d.Port == serve.AnyPort { // choose it here: the record then has the port that clients will store
		var err error
		if d.Port, err = serve.FreePort(ctx); err != nil {
			return err
		}
	}
	if err := d.a.startPart(ctx, d.Part, d.record()); err != nil {
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
	ran, err := d.End(ctx, "")
	if err := d.a.sayEnded(d.Name, ran, err); err != nil {
		return err
	}
	_, err = d.Reap(ctx)
	return err
}

func (d *httpDaemon) status(ctx context.Context) (printer, bool, error) {
	st, err := d.Look(ctx, d.a.c2c+"d")
	return st, st.Answers, err
}

// again makes the next start use the directory of the last one.
func (d *httpDaemon) again(ctx context.Context) error {
	r, err := d.Record()
	if dir := r.Settings["dir"]; err == nil && dir != "" && isThere(dir) {
		d.dir = dir
	}
	if err == nil {
		_, err = d.Daemon.Stop(ctx)
	}
	return err
}

func (d *httpDaemon) rotateToken() error {
	if err := serve.RotateToken(d.State); err != nil {
		return err
	}
	// A program that got the old token may have got the login of an open page, too.
	if err := page.EndLogins(d.Files); err != nil {
		return fmt.Errorf("the token is new, but the logins of the page were not ended: %w", err)
	}
	fmt.Fprintf(d.a.stdout, "the token is a new one, in %s; the old one is not accepted any more, so put the new one into each client that uses c2c serve\n"+
		"all logins of the page have ended: c2c open logs in again\n", serve.TokenFile(d.State))
	d.a.setup().TellOverHTTP("it has the old token", ": c2c install %s --http")
	return nil
}

// portVariable is the variable that sets the daemon's port.
const portVariable = "C2C_HTTP_PORT"
