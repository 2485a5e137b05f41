package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/explain"
	"c2c/broker/loops"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/cmd/running"
	"c2c/cmd/wired"
	"c2c/doctor"
	"c2c/install"
	"c2c/install/selftest"
	"c2c/process/child"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/processes"
	"c2c/wake/clients"
	"c2c/wake/daemon"
)

// checkup is what doctor looks at, a method for each part.
type checkup struct{ *app }

// doctor looks at the root and at each client's configuration, and changes nothing.
func (a *call) doctor(ctx context.Context) error {
	roundtrip, verbose, asJSON := a.Bool("roundtrip"), a.Bool("verbose"), a.Bool("json")
	if _, err := a.words(); err != nil {
		return err
	}
	o, err := a.options()
	if err != nil {
		return err
	}
	o.HTTP, _ = a.overHTTP(ctx) // checkServe tells an error
	check := checkup{a.app}
	clients, err := check.checkClients(ctx, o)
	if err != nil {
		return err
	}
	report := slices.Concat(check.checkSettings(), check.checkRoot(ctx), check.checkRoots(), check.checkServe(ctx), check.checkPrograms(), install.InspectJournal(o), clients)
	if *roundtrip {
		f := selftest.Run(ctx, o)
		if f.Status == doctor.OK && doctor.Problems(clients) > 0 {
			f.Detail += "; but a client is kept from its mail: see the problems"
		}
		report = append(report, f)
	}
	if *asJSON {
		err = cli.JSON(a.stdout, report)
	} else {
		doctor.Print(a.stdout, report, *verbose)
	}
	if n := doctor.Problems(report); err == nil && n > 0 {
		err = fmt.Errorf("problems found: %d", n)
	}
	return err
}

// checkClients looks at each client that is here. Where none can have mail, that is a problem, but not where a client
// that c2c does not set up has sessions.
func (c checkup) checkClients(ctx context.Context, o install.Options) (report []doctor.Finding, err error) {
	none := doctor.Finding{Status: doctor.Problem, Part: "clients"}
	if c.hasSessions(ctx, "") {
		none.Status = doctor.Warning
	}
	present, set := install.Detect(o), false
	if len(present) == 0 {
		none.Detail = noClient(o) + "; install one of them, then run c2c install"
		return []doctor.Finding{none}, nil
	}
	for _, name := range present {
		found, err := install.Inspect(name, o)
		if err != nil {
			return nil, err
		}
		if _, err := child.LookPath(client.ProgramOf(name), o.Getenv); err != nil && !c.hasSessions(ctx, name) {
			found = doctor.OfNobody(found)
		}
		if len(found) > 1 || found[0].Status == doctor.OK { // else it is not set up
			set = true
			report = append(report, install.Program(ctx, name, o))
		}
		report = append(report, found...)
		if install.HasServer(name, o) && !install.HTTPByHand(name, o) && processes.Uninstalled(c.getenv, name, 0) {
			report = append(report, doctor.Finding{Client: name, Status: doctor.Problem, Part: "uninstall",
				Detail: "it was cut off, and a session from before it gets no mail; c2c install " + name + " puts it right"})
		}
	}
	if !set {
		none.Detail = "none of these is set up: c2c install"
		report = append(report, none)
	}
	return append(report, c.checkRunning(ctx, present)...), nil
}

// checkRunning names clients that run in a terminal here and are no session. One whose sessions share a process says nothing.
func (c checkup) checkRunning(ctx context.Context, present []string) (report []doctor.Finding) {
	names := slices.DeleteFunc(slices.Clone(present), func(name string) bool {
		p, _ := client.Find(name)
		return p.SharedProcess || processes.Uninstalled(c.getenv, name, 0)
	})
	root, _ := c.root()
	for _, r := range running.Unknown(ctx, c.getenv, names) {
		if theirs, _, err := project.FindRoot(c.getenv, r.Folder); err == nil && theirs == root {
			report = append(report, doctor.Finding{Client: r.Client, Status: doctor.Warning, Part: "without mail", Detail: r.Sentence(c.getenv("HOME"))})
		}
	}
	return report
}

// hasSessions says whether the root has sessions of a client, or of any if name is empty.
func (c checkup) hasSessions(ctx context.Context, name string) bool {
	root, err := c.root()
	if err != nil {
		return false
	}
	if _, err := os.Stat(root); err != nil {
		return false
	}
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		return false
	}
	defer b.Close()
	all, err := b.Sessions(ctx)
	return err == nil && slices.ContainsFunc(all, func(s sessions.Session) bool {
		return s.Client != "" && (name == "" || s.Client == name) && s.State != sessions.Person && s.State != sessions.External
	})
}

// settings are the variables that c2c obeys, and what holds without them. Some clients add one.
var settings = [][2]string{
	{"C2C_MCP_BROKER_ROOT", "the repository decides"},
	{"C2C_MCP_SESSION_ID", "the client says which session calls"},
	{"C2C_MCP_AUTO_REGISTER_ALIAS", "a new session gets an alias made up"},
	{loops.HopsVariable + ", " + lifetimeVariable,
		"agents answer each other 50 times in a row at most without any work in between; a permission request waits 10 minutes for a verdict"},
	{"C2C_MCP_CLIENT_TYPE", "the MCP client says what it is"},
	{channelVariable, "no channel: the client is woken in another way"},
	{"XDG_STATE_HOME", "~/.c2c for mail, ~/.local/state/c2c for undo records"},
}

func (c checkup) checkSettings() []doctor.Finding {
	all := slices.Clone(settings)
	var unset, dirs []string // of the clients, on one line
	for _, p := range client.All() {
		for _, s := range [][2]string{{p.ConfigEnv, filepath.Join("~", p.ConfigDir)}, {p.ConfigParentEnv, filepath.Join("~", filepath.Dir(p.ConfigDir))}} {
			switch {
			case s[0] == "":
			case c.getenv(s[0]) == "":
				unset, dirs = append(unset, s[0]), append(dirs, s[1])
			default:
				all = append(all, s)
			}
		}
	}
	if len(unset) > 0 {
		all = append(all, [2]string{strings.Join(unset, ", "), strings.Join(dirs, ", ")})
	}
	report := []doctor.Finding{{Status: doctor.OK, Part: "version", Detail: broker.Version}}
	limits := loops.LimitsOf(c.getenv)
	noNumber := map[string]bool{loops.HopsVariable: limits.Hops == 0}
	for _, s := range all {
		var unset []string // of those that share a line
		for _, name := range strings.Split(s[0], ", ") {
			switch v := c.getenv(name); {
			case v == "":
				unset = append(unset, name)
			case noNumber[name]:
				report = append(report, doctor.Finding{Status: doctor.Warning, Part: name,
					Detail: fmt.Sprintf("%q from the environment is no number, and counts as not set: set it to one, or not at all", v)})
			default:
				report = append(report, doctor.Finding{Status: doctor.OK, Part: name, Detail: fmt.Sprintf("%q from the environment", v)})
			}
		}
		if len(unset) > 0 {
			report = append(report, doctor.Finding{Status: doctor.OK, Part: strings.Join(unset, ", "), Detail: "not set: " + s[1]})
		}
	}
	return report
}

// checkRoot also looks at the sessions in it, and at the daemons.
func (c checkup) checkRoot(ctx context.Context) []doctor.Finding {
	root, source, err := project.FindRoot(c.getenv, c.cwd)
	if err != nil {
		return []doctor.Finding{doctor.Failed("root", "", err)}
	}
	f := doctor.Finding{Status: doctor.OK, Part: "root", Path: root, Detail: "private and ours; decided by " + source}
	if v := c.getenv(source); v != "" && !filepath.IsAbs(v) {
		return []doctor.Finding{{Status: doctor.Problem, Part: "root", Path: root,
			Detail: fmt.Sprintf("%s is %q, so each directory has a root of its own: set it to an absolute path, or not at all", source, v)}}
	}
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		f.Detail = "not there yet; the first session makes it; decided by " + source
		return []doctor.Finding{f}
	}
	b, err := broker.Open(broker.Config{Root: root, Now: time.Now})
	if err != nil {
		return []doctor.Finding{doctor.Failed("root", root, err)}
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return slices.Concat([]doctor.Finding{f, c.checkDaemon(ctx, b)}, wired.Check(ctx, b), explain.Check(ctx, b.Registry, canWake), checkSurfaces(ctx, b))
}

// canWake says whether there is a way to wake sessions of a client.
func canWake(name string) bool {
	_, known := clients.Find(name)
	return known
}

func (c checkup) checkDaemon(ctx context.Context, b *broker.Broker) doctor.Finding {
	d := daemon.Wake(b.Dir())
	f := doctor.Finding{Status: doctor.OK, Part: "wake daemon", Path: d.Log()}
	pid, err := d.PID()
	all, lerr := b.Sessions(ctx)
	switch {
	case errors.Join(err, lerr) != nil:
		return doctor.Failed(f.Part, f.Path, errors.Join(err, lerr))
	case pid != 0:
		f.Detail = fmt.Sprintf("runs, process %d", pid)
		return f
	}
	var attached []string
	for _, s := range all {
		if s.Pane != "" && s.State == sessions.Alive {
			attached = append(attached, s.Alias)
		}
	}
	f.Path, f.Detail = "", "does not run; only sessions without a server of their own need it"
	if len(attached) > 0 {
		f.Status, f.Detail = doctor.Warning, "does not run, and was to type for "+strings.Join(attached, ", ")+": c2c wake start"
	}
	return f
}
