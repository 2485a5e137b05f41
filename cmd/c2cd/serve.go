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
	partVerbs
	State, Files *atomicfile.Dir // the state directory, and that of its files; nil: it does not exist yet
	Port         int
}

// serve runs the verbs of c2c serve.
func (a *call) serve(ctx context.Context) error {
	asJSON, port := a.Bool("json"), a.Text("port")
	verbs, err := a.words()
	if err != nil {
		return err
	}
	if len(verbs) != 1 {
		return fmt.Errorf("%w: one of start, stop, restart, run, status, open and rotate-token", errUsage)
	}
	verb := verbs[0]
	at, err := a.httpPort(*port)
	if err != nil {
		return err
	}
	d, err := a.openHTTP(verb != "status" && verb != "stop")
	if err != nil {
		return err
	}
	defer d.Close()
	d.set(at, a.cwd)
	switch verb {
	case "rotate-token":
		return d.rotateToken()
	case "status":
		st, err := d.Look(ctx, a.c2c+"d")
		return a.printStatus(st, st.Answers, err, *asJSON)
	}
	err = backgroundVerb(ctx, d, verb)
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
func (a *app) openHTTP(create bool) (*httpDaemon, error) {
	path, err := project.FindStateDir(a.getenv)
	if err != nil {
		return nil, err
	}
	all, err := daemon.Open(path, create)
	if err != nil {
		return nil, err
	}
	d := &httpDaemon{partVerbs: a.verbsOf(all, servePart, "")}
	if d.State, err = atomicfile.CreateIf(path, create); d.State != nil {
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
	d, err := a.openHTTP(false)
	if err == nil && d.State != nil {
		defer d.Close()
		_, err = serve.Reap(ctx, d.State, func() (bool, error) { return false, nil })
	}
	if err != nil {
		a.log.Warn("where the last HTTP daemon has listened may be shown still", "err", err)
	}
}

// set sets where the daemon listens, and the directory whose root clients get that name no
// directory.
func (d *httpDaemon) set(port int, dir string) {
	settings := map[string]string{"dir": dir}
	if d.Port = port; port != serve.LastPort {
		settings["port"] = strconv.Itoa(port)
	}
	d.record = daemon.Record{Env: partEnv("C2C_MCP_BROKER_ROOT", owed.HopsVariable, rooms.WakesVariable), Settings: settings}
}

// runServe runs the part of the daemon.
func runServe(ctx context.Context, a *app, r daemon.Record, _ string, ready func()) error {
	d, err := a.openHTTP(true)
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
		port, err := serve.FreePort(ctx)
		if err != nil {
			return err
		}
		d.set(port, d.record.Settings["dir"])
	}
	if err := d.partVerbs.start(ctx); err != nil {
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
	if err := d.partVerbs.stop(ctx); err != nil {
		return err
	}
	_, err := d.Reap(ctx)
	return err
}

// again makes the next start use the directory of the last one.
func (d *httpDaemon) again(ctx context.Context) error {
	r, err := d.Record()
	if err != nil {
		return err
	}
	if dir := r.Settings["dir"]; dir != "" && missing(dir) == nil {
		d.set(d.Port, dir)
	}
	return d.partVerbs.again(ctx)
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
