package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"c2c/internal/proc"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// OpenHere opens the root of the repository to which the directory cwd belongs, and makes the root
// if it is missing. It is for a directory that somebody has named; OpenFor is for the programs that
// a client or a person runs.
func OpenHere(getenv func(string) string, cwd string, cfg Config) (*Broker, error) {
	return OpenFor(callers.Caller{Remote: true, Getenv: getenv}, cwd, cfg)
}

// OpenFor opens the root of a caller: that of the running session that owns the caller, and only
// without such a session that of the directory cwd. Of cfg it uses only the clock, the log, the
// processes and Existing.
func OpenFor(c callers.Caller, cwd string, cfg Config) (*Broker, error) {
	if cfg.Processes == nil {
		cfg.Processes = new(sessions.SystemProcesses)
	}
	p, err := find(c, cwd, cfg.Processes)
	if err == nil && cfg.Existing {
		if _, gone := os.Stat(p.Path); errors.Is(gone, fs.ErrNotExist) {
			return nil, &NoRootError{p.Path, p.Source, cwd}
		}
	}
	for err == nil && p.Record() { // another process has just made a link that names a root: find that root
		p, err = find(c, cwd, cfg.Processes)
	}
	if err != nil {
		return nil, err
	}
	set := ConfigOf(c.Getenv, p.Path, nil)
	set.Log, set.Now, set.Processes = cfg.Log, cfg.Now, cfg.Processes
	b, err := Open(set)
	if err != nil {
		return nil, err
	}
	b.Split = p.IsOwn()
	p.TellRelay()
	return b, nil
}

// RootFor finds the root that OpenFor opens, and what has decided it. It creates nothing.
func RootFor(c callers.Caller, cwd string) (root, source string, err error) {
	p, err := find(c, cwd, new(sessions.SystemProcesses))
	return p.Path, p.Source, err
}

// RootHere finds the root that OpenHere opens. It creates nothing.
func RootHere(getenv func(string) string, cwd string) (root string, err error) {
	root, _, err = RootFor(callers.Caller{Remote: true, Getenv: getenv}, cwd)
	return root, err
}

// bySession is the source of a root that a running session has.
const bySession = "the session that runs here"

// find finds the root of a caller. If the repository around cwd had another root when c2c was last
// used in it, or before, and a session of that root runs in this repository, it is that session's
// root.
func find(c callers.Caller, cwd string, table sessions.ProcessTable) (project.Place, error) {
	if project.Named(c.Getenv) == "" {
		if root := callers.Root(table, c); root != "" {
			return project.Place{Path: root, Source: bySession}, nil
		}
	}
	p, err := project.Find(c.Getenv, cwd)
	if i := slices.IndexFunc(p.Former, func(root string) bool { return len(running(root, p.Top(), table)) > 0 }); err == nil && i >= 0 {
		return project.Place{Path: p.Former[i], Source: bySession}, nil
	}
	return p, err
}

// running returns the aliases of the sessions of a root that run in a repository: their process is
// or was started there, as far as the system tells. A clone elsewhere may have kept that root.
func running(root, top string, table sessions.ProcessTable) (aliases []string) {
	if _, err := os.Stat(root); err != nil {
		return nil
	}
	reg, err := sessions.Open(sessions.Config{Root: root})
	if err != nil {
		return nil
	}
	defer reg.Close()
	rows, _ := reg.ReadRegistry()
	for _, r := range rows {
		if reg.State(r) != sessions.Alive {
			continue
		}
		pid := int(r.Integer("pid"))
		now := proc.Folder(pid)
		began := sessions.EnvironmentOf(table.Environ(pid))("PWD")
		if isBelow(now, top) || isBelow(began, top) {
			aliases = append(aliases, r.Alias())
		}
	}
	return aliases
}

// Split makes the clone around cwd a project of its own, or, if own is false, undoes that. It
// refuses while sessions run in the clone: they would keep the root that they have.
func Split(getenv func(string) string, cwd string, own bool) error {
	p, err := project.Find(getenv, cwd)
	if err != nil {
		return err
	}
	if runs := running(p.Path, p.Top(), new(sessions.SystemProcesses)); len(runs) > 0 {
		return fmt.Errorf("sessions run in %s, and keep the mail that they have: end %s first", p.Top(), Few(runs))
	}
	return project.Split(getenv, cwd, own)
}

func isBelow(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }

// NoRootError says that a root does not exist. It matches fs.ErrNotExist.
type NoRootError struct {
	Root, Source string
	Dir          string // the directory whose project has no root
}

func (e *NoRootError) Error() string        { return "find the root: " + e.Root + " is not there" }
func (e *NoRootError) Is(target error) bool { return target == fs.ErrNotExist }
