// Package install plans, shows, applies and undoes the edits that c2c makes to
// the configuration of the AI programs it serves.
//
// A plan is made first and changes nothing; it can be shown as a diff and then
// applied. What is ours is found by what it runs, never by position, and every
// byte around it is kept: comments, order, indentation, line endings.
//
// On disk, below Options.StateDir: one undo record per edited file (what the
// file was before, and the hash of what we made of it) and dirs.json (the
// directories that we created). Uninstall puts a file back byte for byte when
// nobody else edited it since, and else takes out only what is ours. When the
// last record is gone, the directory goes too.
//
// Two callers at once are harmless: a plan is applied only while every file is
// still as it was planned from. The package prints nothing.
package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"c2c/broker/client"

	"github.com/rogpeppe/go-internal/diff"
)

// Options says whose configuration is edited and what is put there. All paths
// are absolute.
type Options struct {
	Home       string
	Getenv     func(string) string // the clients' variables and PATH are asked for
	Project    string              // directory that gets .mcp.json
	Global     bool                // put the MCP server into the user's file instead of the project's
	Binary     string              // the c2c to put into configurations
	HookScript []byte              // content of c2c-inbox-check.sh
	StateDir   string              // where undo records are kept
	Now        func() time.Time
}

// A Change is one file before and after. A nil Before means that there is no
// file yet, a nil After that it goes away.
type Change struct {
	Path             string // as the client names it; may be a symbolic link
	Before, After    []byte
	BeforeMode, Mode fs.FileMode
	target           string // where the bytes are, links followed
	record           *record
}

// A Plan is what would be done to one client's files. It belongs to one
// goroutine.
type Plan struct {
	Client  string
	Changes []Change
	Notes   []string // what the person should know or do afterwards

	stateDir string
	finished []string // files whose undo record is no longer needed
}

// Empty reports whether applying p would edit no file. Applying an empty plan
// is allowed and drops undo records that have become useless.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 }

// Diff returns all changes as one unified diff, "" when there are none.
func (p *Plan) Diff() string {
	var out strings.Builder
	for _, c := range p.Changes {
		oldName, newName := c.Path, c.Path
		switch {
		case c.Before == nil:
			oldName = "/dev/null"
			fmt.Fprintf(&out, "new file mode %04o\n", c.Mode.Perm())
		case c.After == nil:
			newName = "/dev/null"
			fmt.Fprintf(&out, "deleted file mode %04o\n", c.BeforeMode.Perm())
		case c.Mode.Perm() != c.BeforeMode.Perm():
			fmt.Fprintf(&out, "%s: mode %04o becomes %04o\n", c.Path, c.BeforeMode.Perm(), c.Mode.Perm())
		}
		if c.target != c.Path {
			fmt.Fprintf(&out, "%s is a link; the file edited is %s\n", c.Path, c.target)
		}
		out.Write(diff.Diff(oldName, c.Before, newName, c.After))
	}
	return out.String()
}

// Detect returns the clients found: those with a configuration directory or a
// program on PATH.
func Detect(o Options) []string {
	var found []string
	for _, name := range Clients() {
		dir, _ := configDir(name, o)
		if _, err := client.LookPath(name, o.Getenv); err == nil || isDir(dir) {
			found = append(found, name)
		}
	}
	return found
}

// PlanInstall plans to put c2c into client's configuration. Nothing is planned
// when any of the files cannot be understood.
func PlanInstall(client string, o Options) (*Plan, error) {
	s, targets, err := findSetup(client, o)
	if err != nil {
		return nil, err
	}
	p := &Plan{Client: client, stateDir: o.StateDir}
	for _, t := range targets {
		if t.other {
			continue
		}
		c, err := planAdd(t, o)
		if err != nil {
			return nil, err
		}
		if c != nil {
			p.Changes = append(p.Changes, *c)
		}
	}
	if !p.Empty() && s.notes != nil {
		p.Notes = s.notes(o)
	}
	return p, nil
}

// planAdd returns the change that puts our part into t, or nil when it is there.
func planAdd(t target, o Options) (*Change, error) {
	f, err := readFile(t.path)
	if err != nil {
		return nil, err
	}
	after, err := t.editor.add(t.path, f.data)
	if err != nil {
		return nil, err
	}
	mode := t.mode
	if f.data != nil && !t.exactMode {
		mode = f.mode
	}
	if f.data != nil && bytes.Equal(after, f.data) && mode == f.mode {
		return nil, nil
	}
	if err := f.writable(); err != nil {
		return nil, err
	}
	old, err := readRecord(o.StateDir, t.path)
	if err != nil {
		return nil, err
	}
	r, err := nextRecord(old, t, f)
	if err != nil {
		return nil, err
	}
	r.AfterMode, r.AfterSHA256, r.Time = mode, hash(after), o.Now().UTC()
	c := f.change(after, mode)
	c.record = r
	return &c, nil
}

// PlanUninstall plans to take c2c out of every file that it was put into for
// this client, also in other projects, and out of the files that PlanInstall
// would edit.
func PlanUninstall(client string, o Options) (*Plan, error) {
	s, targets, err := findSetup(client, o)
	if err != nil {
		return nil, err
	}
	if targets, err = s.uninstallTargets(targets, o); err != nil {
		return nil, err
	}
	p := &Plan{Client: client, stateDir: o.StateDir}
	for _, t := range targets {
		r, err := readRecord(o.StateDir, t.path)
		if err != nil {
			return nil, err
		}
		c, note, err := planRemove(t, r)
		if err != nil {
			return nil, err
		}
		if c != nil {
			p.Changes = append(p.Changes, *c)
		}
		if note != "" {
			p.Notes = append(p.Notes, note)
		}
		if r != nil {
			p.finished = append(p.finished, t.path)
		}
	}
	return p, nil
}

// planRemove returns the change that takes our part out of t, or nil when it
// is not there, and a note for the person.
func planRemove(t target, r *record) (*Change, string, error) {
	f, err := readFile(t.path)
	if err != nil {
		return nil, "", err
	}
	if f.data == nil || r != nil && r.untouched(f.data) {
		return nil, "", nil
	}
	c := f.change(nil, f.mode)
	if r != nil && hash(f.data) == r.AfterSHA256 {
		c.After = r.original()
		if f.mode == r.AfterMode { // a mode that somebody changed since stays
			c.Mode = r.Mode
		}
	} else {
		after, note, err := stripped(t, f.data, r)
		if err != nil || note != "" {
			return nil, note, err
		}
		c.After = after
	}
	if c.After != nil && bytes.Equal(c.After, f.data) && c.Mode == f.mode {
		return nil, "", nil
	}
	return &c, "", f.writable()
}

// stripped returns data, which somebody edited after us, without our part; nil
// when nothing is left of a file that was not there before c2c.
func stripped(t target, data []byte, r *record) (after []byte, note string, err error) {
	after, err = t.editor.strip(t.path, data, r.original())
	switch {
	case errors.Is(err, errEdited):
		return nil, fmt.Sprintf("%s was edited since c2c wrote it and is left in place", t.path), nil
	case err != nil:
		return nil, "", err
	case bytes.Equal(after, data):
		return after, "", nil
	case blank(after) && (r == nil || !r.Existed):
		return nil, "", nil
	}
	return after, "", nil
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
