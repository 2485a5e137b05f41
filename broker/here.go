package broker

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/processes"
	"c2c/sessions/registry"
)

// OpenHere opens the root of the repository to which the directory cwd belongs, and makes the root if it is missing. If the repository had
// another root when c2c was last used in it, and sessions of that one run, it is that one. Of cfg OpenHere uses only the clock, the log, the
// processes and Existing.
func OpenHere(getenv func(string) string, cwd string, cfg Config) (*Broker, error) {
	p, err := project.Find(getenv, cwd)
	if err == nil && runs(p.Former) {
		return openAt(getenv, p.Former, cfg)
	}
	if err == nil {
		err = cfg.check(p.Path, p.Source, cwd)
	}
	for err == nil && p.Record() { // another process has just made a link that names a root: find that root
		p, err = project.Find(getenv, cwd)
	}
	if err != nil {
		return nil, err
	}
	b, err := openAt(getenv, p.Path, cfg)
	if err == nil {
		p.TellRelay()
	}
	return b, err
}

// runs reports whether a session of a root runs.
func runs(root string) bool {
	if root == "" {
		return false
	}
	reg, err := sessions.Open(sessions.Config{Root: root})
	if err != nil {
		return false
	}
	defer reg.Close()
	rows, _ := reg.ReadRegistry()
	return slices.ContainsFunc(rows, func(r registry.Row) bool { return reg.State(r) == sessions.Alive })
}

// OpenFor opens the root of a caller: that of the running session that owns the caller, and only without such a session that of the
// directory cwd. It is for the programs that a client or a person runs; OpenHere is for a directory that somebody has named.
func OpenFor(c callers.Caller, cwd string, cfg Config) (*Broker, error) {
	if cfg.Processes == nil {
		cfg.Processes = new(processes.System)
	}
	root := ownedRoot(cfg.Processes, c)
	if root == "" {
		return OpenHere(c.Getenv, cwd, cfg)
	}
	if err := cfg.check(root, BySession, cwd); err != nil {
		return nil, err
	}
	return openAt(c.Getenv, root, cfg)
}

// RootFor finds the root that OpenFor opens, and what has decided it. It creates nothing.
func RootFor(c callers.Caller, cwd string) (root, source string, err error) {
	if root := ownedRoot(new(processes.System), c); root != "" {
		return root, BySession, nil
	}
	p, err := project.Find(c.Getenv, cwd)
	if err == nil && runs(p.Former) {
		return p.Former, BySession, nil
	}
	return p.Path, p.Source, err
}

// BySession is what RootFor calls the source of a root that a running session has.
const BySession = "the session that runs here"

func ownedRoot(table processes.Table, c callers.Caller) string {
	if project.Named(c.Getenv) != "" {
		return ""
	}
	return callers.Root(table, c)
}

// NoRootError says that a root does not exist.
type NoRootError struct {
	Root, Source string
	Dir          string // the directory whose project has no root; "" if it is not known
}

func (e *NoRootError) Error() string { return "find the root: " + e.Root + " is not there" }

// Is makes the error match fs.ErrNotExist.
func (e *NoRootError) Is(target error) bool { return target == fs.ErrNotExist }

// check returns a *NoRootError if the root must exist and does not. Opening the root reports any other error.
func (cfg Config) check(root, source, dir string) error {
	if !cfg.Existing {
		return nil
	}
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return &NoRootError{root, source, dir}
	}
	return nil
}

func openAt(getenv func(string) string, root string, cfg Config) (*Broker, error) {
	set := ConfigOf(getenv, root, nil)
	set.Log, set.Now, set.Processes = cfg.Log, cfg.Now, cfg.Processes
	return Open(set)
}
