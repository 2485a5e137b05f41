package install

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"c2c/internal/atomicfile"
)

// Alone says how a client is started so that c2c is set up in this one session. No file of the
// client changes: what PlanInstall would write into its configuration is in files of c2c, and the
// client reads them because of its own options and variables.
type Alone struct {
	Args  []string // to be put before the person's own arguments
	Env   []string // variables, as NAME=value
	Lacks string   // what such a session lacks, compared with an installed c2c; "": nothing that a person would miss
	files []target
}

// started is the folder in Options.StateDir with the files of SetUpAlone.
const started = "started"

// HasAlone reports whether there are files of SetUpAlone.
func HasAlone(o Options) bool {
	_, err := os.Lstat(filepath.Join(o.StateDir, started))
	return err == nil
}

// RemoveAlone removes all files of SetUpAlone. A session that runs with them would go on without
// c2c's hooks.
func RemoveAlone(o Options) error {
	if err := os.RemoveAll(filepath.Join(o.StateDir, started)); err != nil {
		return err
	}
	syscall.Rmdir(o.StateDir) // if it is empty now
	syscall.Rmdir(filepath.Dir(o.StateDir))
	return nil
}

// IsInstalled reports whether the person's own configuration of a client, or a plugin, sets c2c up.
// Files of the project do not count: anybody may have committed them, for another machine.
func IsInstalled(name string, o Options) bool {
	s, targets, err := findSetup(name, o)
	if err != nil {
		return false
	}
	return s.plugin != nil && s.plugin(o) != "" || slices.ContainsFunc(targets, func(t target) bool {
		p, err := t.find()
		return err == nil && p.there && t.editor.kind() != kindFlag && t.project == ""
	})
}

// SetUpAlone writes the files for sessions of a client that c2c starts, below o.StateDir. args are
// the person's own arguments: if one of them would undo ours, the error says so.
func SetUpAlone(name string, o Options, args []string) (Alone, error) {
	s, _, err := findSetup(name, o)
	if err != nil {
		return Alone{}, err
	}
	if s.alone == nil {
		return Alone{}, fmt.Errorf("%s takes c2c only from its configuration", name)
	}
	dir := filepath.Join(o.StateDir, started, name)
	how, err := s.alone(o, dir, args)
	if err != nil {
		return Alone{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Alone{}, err
	}
	for _, t := range how.files {
		if err := t.write(); err != nil {
			return Alone{}, err
		}
	}
	return how, nil
}

// write makes the file hold t.base and our part.
func (t target) write() error {
	data, err := t.editor.add(t.path, t.base)
	if err != nil {
		return err
	}
	f, err := ReadFile(t.path)
	if err == nil && bytes.Equal(f.Data, data) && f.Mode.Perm() == t.mode {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Rewrite(t.path, data, t.mode, func() error { return nil })
}
