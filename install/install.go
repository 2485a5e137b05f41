// Package install plans, shows, applies and undoes the edits that c2c makes to
// the configuration of AI programs.
//
// A caller first makes a plan, which changes nothing. The caller can show the plan as a diff, and
// then apply it. c2c finds its own parts by the command that they run, never by position. It keeps
// every byte around them: comments, order, indentation, line endings. An install replaces the parts
// that the OCaml c2c, the program before this one, has written.
//
// The file undo.json in Options.StateDir records the content of each edited file before the edit,
// the hash of the content after the edit, and the directories that c2c has made. If no other
// program has edited a file since, uninstall restores the file byte for byte; otherwise uninstall
// removes only the parts that are ours. A file that cannot be parsed stays as it is, and its record
// stays, too. When nothing is left to undo, uninstall also removes the records.
//
// A lock lets only one process at a time apply a plan. A plan is applied only if every file is
// still as it was when the plan was made. The package prints nothing.
package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"c2c/client"
	"c2c/internal/proc"
)

// Detect returns the clients that have a configuration directory here, or a program on the PATH.
func Detect(o Options) []string {
	var found []string
	for _, name := range client.Names() {
		dir, _ := configDir(name, o)
		if _, err := proc.LookPath(client.ProgramOf(name), o.Getenv); err == nil || IsDir(dir) {
			found = append(found, name)
		}
	}
	return found
}

// PlanInstall plans to put c2c into client's configuration. If it cannot parse one of the files, it
// returns an error and no plan.
func PlanInstall(client string, o Options) (*Plan, error) {
	s, targets, p, err := begin(client, o)
	if err != nil {
		return nil, err
	}
	elsewhere := slices.ContainsFunc(targets, func(t target) bool {
		return t.other && t.part() == partServer && p.journal.find(t.path) != nil && t.held()
	})
	switch {
	case o.InProject && !s.inProject:
		return nil, fmt.Errorf("c2c cannot be set up for a single project in this client; run this without --project")
	case o.InProject && elsewhere:
		return nil, fmt.Errorf("c2c is set up for all projects; to have it only in this one, run c2c uninstall %s first", client)
	}
	p.again = func() (*Plan, error) { return PlanInstall(client, o) }
	if s.plugin != nil && s.plugin(o) != "" && !slices.ContainsFunc(targets, target.held) {
		p.byPlugin, p.Notes = true, []string{"the plugin " + pluginName + " is on and does the same; to use c2c install instead, uninstall the plugin first"}
		return p, nil
	}
	for _, t := range targets {
		if t.other {
			continue
		}
		if err := p.add(t); err != nil {
			return nil, err
		}
	}
	if !p.Empty() && s.notes != nil {
		p.Notes = append(s.notes(o), p.Notes...)
	}
	if o.InProject {
		return p, nil
	}
	if targets, err = p.withRecorded(targets); err == nil {
		p.takeOver(targets)
	}
	return p, err
}

// takeOver plans to remove c2c from the files of single projects, where an earlier install has put
// it: otherwise these projects would have c2c twice. If a file cannot be edited, takeOver adds a
// note and goes on.
func (p *Plan) takeOver(targets []target) {
	for _, t := range targets {
		if !t.other {
			continue
		}
		before := len(p.Changes)
		f, err := p.remove(t)
		switch {
		case err != nil && p.journal.find(t.path) == nil && (f == nil || !bytes.Contains(f.Data, []byte(serverName))):
			continue // nothing in the file is ours
		case err != nil:
			p.Notes = append(p.Notes, fmt.Sprintf("c2c is still set up in a project, too: %v", err))
			continue
		case len(p.Changes) > before:
			p.Moved = append(p.Moved, t.path)
		default:
			p.Notes = append(p.Notes, foreign(t, f)...)
		}
		if p.journal.find(t.path) != nil {
			p.finished = append(p.finished, t.path)
		}
	}
}

// add plans to put our part into t, unless it is already there.
func (p *Plan) add(t target) error {
	f, err := ReadFile(t.path)
	if err != nil {
		return err
	}
	old := p.journal.find(t.path)
	if err := t.mayAdd(f, old); err != nil {
		return err
	}
	after, err := t.editor.add(t.path, f.Data)
	if err != nil {
		return err
	}
	mode := cmp.Or(t.mode, 0o600)
	if f.Data != nil && t.editor.kind() != kindScript {
		mode = f.Mode
	}
	if t.private {
		mode &^= 0o077
	}
	if f.Data != nil && bytes.Equal(after, f.Data) && mode == f.Mode {
		return nil
	}
	if err := f.CheckWritable(); err != nil {
		return err
	}
	r, err := nextRecord(old, t, f)
	if err != nil {
		return err
	}
	r.Config, r.AfterMode, r.AfterSHA256 = p.config, mode, Hash(after)
	p.journal.forget(t.path)
	p.journal.Files = append(p.journal.Files, r)
	p.recorded = true
	c := f.Change(after, mode)
	c.Own = r.Kind == kindScript && (f.Data == nil || old != nil && Hash(f.Data) == old.AfterSHA256)
	p.Changes = append(p.Changes, c)
	return nil
}

// foreign returns notes about a server that has our name in a project's file, but is not ours: the
// client uses that server instead of our server.
func foreign(t target, f *File) (notes []string) {
	p, _ := t.editor.find(f)
	for _, finding := range p.findings(t, Options{Getenv: func(string) string { return "" }}) {
		if finding.Part == partServer && !p.ours {
			notes = append(notes, fmt.Sprintf("%s (%s)", finding.Detail, finding.Path))
		}
	}
	return notes
}

// PlanUninstall plans to remove c2c from every file that an install for this client has edited,
// also in other projects, and from the files that PlanInstall would edit.
func PlanUninstall(client string, o Options) (*Plan, error) {
	_, targets, p, err := begin(client, o)
	if err != nil {
		return nil, err
	}
	p.again = func() (*Plan, error) { return PlanUninstall(client, o) }
	if targets, err = p.withRecorded(targets); err != nil {
		return nil, err
	}
	var left []byte // the content of files that cannot be edited
	for _, t := range targets {
		if t.editor.kind() == kindScript && bytes.Contains(left, []byte(t.path)) {
			continue // a hook in a file that cannot be edited still runs this script
		}
		f, err := p.remove(t)
		if err != nil {
			p.Left = append(p.Left, err)
			if f != nil {
				left = append(left, f.Data...)
			}
		} else if p.journal.find(t.path) != nil {
			p.finished = append(p.finished, t.path)
		}
	}
	return p, nil
}

// begin returns an empty plan, and the files that may hold the client's configuration.
func begin(client string, o Options) (setup, []target, *Plan, error) {
	s, targets, err := findSetup(client, o)
	if err != nil {
		return s, nil, nil, err
	}
	j, err := readJournal(o.StateDir)
	// isLocked comes after readJournal. So either isLocked sees an install that runs, or renew sees
	// that the install has changed the journal.
	p := &Plan{Client: client, home: filepath.Clean(o.Home), stateDir: o.StateDir, journal: j, overlaps: IsLocked(o.StateDir)}
	p.config, _ = configDir(client, o)
	return s, targets, p, err
}

// withRecorded adds the files that only the undo records name, such as the .mcp.json of another
// project. It returns all files in the opposite order of an install, so that an uninstall removes
// the hook entries before the script that they name.
func (p *Plan) withRecorded(targets []target) ([]target, error) {
	for _, r := range p.journal.Files {
		if r.Client != p.Client || p.isOther(r) || slices.ContainsFunc(targets, func(t target) bool { return t.path == r.Path }) {
			continue
		}
		i := slices.IndexFunc(targets, func(t target) bool { return t.editor.kind() == r.Kind })
		if i < 0 {
			return nil, fmt.Errorf("read undo record of %q: unknown kind %q for client %q", r.Path, r.Kind, r.Client)
		}
		t := targets[i]
		t.path, t.other, t.project = r.Path, true, projectOf(targets, r)
		targets = append(targets, t)
	}
	slices.Reverse(targets)
	return targets, nil
}

// remove plans to remove our part from t, if it is there. It returns t's file, nil if it cannot be
// read.
func (p *Plan) remove(t target) (f *File, err error) {
	r := p.journal.find(t.path)
	switch f, err = ReadFile(t.path); {
	case err != nil || f.Data == nil || r != nil && r.untouched(f.Data) || r == nil && t.outside(f):
		return f, err
	case t.outside(f): // for example, git pull has put the link there after the install
		p.Notes = append(p.Notes, fmt.Sprintf("%s is now a link that leads out of the project, to %s, which stays as it is", t.path, f.Target))
		return f, nil
	}
	c := f.Change(nil, f.Mode)
	if r != nil && Hash(f.Data) == r.AfterSHA256 {
		c.After = r.original()
		if f.Mode == r.AfterMode { // otherwise a person has changed the mode: keep it
			c.Mode = r.Mode
		}
	} else if c.After, err = stripped(t, f.Data, r); errors.Is(err, errEdited) {
		p.Notes = append(p.Notes, fmt.Sprintf("%s was edited after c2c wrote it, so it stays", t.path))
		return f, nil
	} else if err != nil {
		return f, err
	} else if r != nil && r.Existed && f.Mode == r.AfterMode {
		c.Mode = r.Mode
	}
	if c.After != nil && bytes.Equal(c.After, f.Data) && c.Mode == f.Mode {
		return f, nil
	}
	c.Own = t.editor.kind() == kindScript && c.After == nil // an edited script stays, see errEdited
	if err = f.CheckWritable(); err == nil {
		p.Changes = append(p.Changes, c)
	}
	return f, err
}

// stripped returns data without our part, for a file that somebody has edited after c2c. It returns
// nil if the file would be empty and did not exist before c2c.
func stripped(t target, data []byte, r *record) ([]byte, error) {
	after, err := t.editor.strip(t.path, data, r.known())
	if err == nil && !bytes.Equal(after, data) && Blank(after) && (r == nil || !r.Existed) {
		return nil, nil
	}
	return after, err
}
