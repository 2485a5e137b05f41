package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/project"
	"c2c/serve"
	"c2c/serve/page"
)

// lookAgain is the time between two checks while the daemon begins or ends.
const lookAgain = 50 * time.Millisecond

// httpDaemon is the HTTP daemon of this user, and has what the verbs of c2c serve need to handle
// it.
type httpDaemon struct {
	*partVerbs
	httpSettings
	State, Files *atomicfile.Dir // the state directory, and that of its files; nil: it does not exist yet
}

// httpSettings is what the part reads from parts.json.
type httpSettings struct {
	Port int    `json:"port"` // as serve.Config.Port
	Dir  string `json:"dir"`  // clients that name no directory get the root of this one
	Root string `json:"root"` // C2C_MCP_BROKER_ROOT of the shell that has switched the part on
}

func init() { verbs["serve"] = (*call).serve }

// serve runs the verbs of c2c serve.
func (a *call) serve(ctx context.Context) error {
	asJSON, port := a.Bool("json"), a.Text("port")
	verb, err := a.OneWord(a.args)
	if err != nil {
		return err
	}
	at, err := a.httpPort(*port)
	if err != nil {
		return err
	}
	d, err := a.openHTTP(verb != "status" && verb != "stop")
	if err != nil {
		return err
	}
	defer d.Close()
	d.set(httpSettings{at, a.cwd, a.getenv("C2C_MCP_BROKER_ROOT")})
	switch verb {
	case "rotate-token":
		return d.rotateToken()
	case "status":
		st, err := d.Look(ctx)
		return cli.PrintStatus(a.stdout, st, st.Answers, err, *asJSON)
	}
	err = backgroundVerb(ctx, d, verb)
	if err == nil && verb == "stop" {
		a.tellOverHTTP("its tools use HTTP, and do not work until c2c serve start", "; until then, c2c install %s --http makes them use stdio")
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
	d := &httpDaemon{partVerbs: a.verbsOf(all, servePart, "")}
	if err == nil {
		d.State, err = atomicfile.CreateIf(path, create)
	}
	if err == nil {
		d.Files, err = atomicfile.CreateIf(filepath.Join(path, serve.FilesDir), create)
	}
	if err != nil {
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

// at returns where the daemon listens; the zero At if it does not run.
func (d *httpDaemon) at() (at serve.At, err error) {
	err = d.About(&at)
	return at, err
}

// settled returns where the daemon listens, and whether it answers. A killed daemon still holds its
// lock for a moment, and a new one does not answer yet. So settled checks again and again until
// answerTime is over.
func (d *httpDaemon) settled(ctx context.Context) (at serve.At, up bool, err error) {
	late := time.After(answerTime)
	for {
		if at, err = d.at(); err != nil || at.PID == 0 || answers(ctx, at.Port) {
			return at, err == nil && at.PID != 0, err
		}
		select {
		case <-ctx.Done():
			return at, false, context.Cause(ctx)
		case <-late:
			return at, false, nil
		case <-time.After(lookAgain):
		}
	}
}

// runServe runs the part of the daemon.
func runServe(ctx context.Context, a *app, how, _ string, report func(any)) error {
	d, err := a.openHTTP(true)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := json.Unmarshal([]byte(how), &d.httpSettings); err != nil {
		return fmt.Errorf("read its settings in parts.json: %w", err)
	}
	getenv := func(name string) string {
		if name == "C2C_MCP_BROKER_ROOT" {
			return d.Root
		}
		return a.getenv(name)
	}
	h := &httpHost{State: d.State, Files: d.Files, Port: d.Port, Getenv: getenv, Cwd: d.Dir, Log: a.log}
	return explainPort(h.Run(ctx, report))
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
	switch at, up, err := d.settled(ctx); {
	case err != nil:
		return err
	case at.PID != 0 && !up:
		return cli.WithHint(fmt.Errorf("%s runs already, process %d, and does not answer", d.Name, at.PID), "c2c serve restart starts it again")
	case up && d.Port > 0 && at.Port != d.Port:
		return cli.WithHint(fmt.Errorf("%s runs already, process %d, at port %d", d.Name, at.PID, at.Port), fmt.Sprintf("c2c serve restart --port %d moves it", d.Port))
	case up:
		fmt.Fprintf(d.a.stdout, "%s runs already, process %d\n", d.Name, at.PID)
		return d.printURL()
	}
	return d.begin(ctx, false)
}

// restart uses the directory of the last start.
func (d *httpDaemon) restart(ctx context.Context) error {
	all, err := d.Switches()
	if err != nil {
		return err
	}
	last, now := httpSettings{}, d.httpSettings
	if json.Unmarshal([]byte(all.Of(servePart).How), &last) == nil && last.Dir != "" && missing(last.Dir) == nil {
		now.Dir = last.Dir
		d.set(now)
	}
	return d.begin(ctx, true)
}

func (d *httpDaemon) set(s httpSettings) {
	how, _ := json.Marshal(s) // it has only texts and a number, so this never fails
	d.httpSettings, d.how = s, string(how)
}

func (d *httpDaemon) begin(ctx context.Context, anew bool) error {
	if d.Port == serve.AnyPort { // choose it here: parts.json then has the port that clients will store
		port, err := serve.FreePort(ctx)
		if err != nil {
			return err
		}
		d.set(httpSettings{port, d.Dir, d.Root})
	}
	if err := d.partVerbs.begin(ctx, anew); err != nil {
		return err
	}
	return d.printURL()
}

func (d *httpDaemon) printURL() error {
	at, err := d.at()
	if err == nil && at.PID != 0 { // else it has ended again
		fmt.Fprintf(d.a.stdout, "url %s\ntoken in %s\n", at.URL, serve.TokenFile(d.State))
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
	d.a.tellOverHTTP("it has the old token", ": c2c install %s --http")
	return nil
}

// portVariable is the variable that sets the daemon's port.
const portVariable = "C2C_HTTP_PORT"
