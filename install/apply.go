package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ErrChanged says that a file is no longer as it was when the plan was made.
var ErrChanged = errors.New("changed meanwhile, run again")

// A step replaces one file, or makes one directory. A nil before means that
// the file must not exist, a nil after that it is removed.
type step struct {
	path, target     string
	before, after    []byte
	beforeMode, mode fs.FileMode
	dir              bool
}

// Apply carries out the plan. All files are compared with what was planned
// from before the first is written, and each again right before its turn; what
// was written before an error is put back. ErrChanged can be tested for.
func (p *Plan) Apply() error {
	steps, err := p.steps()
	if err != nil {
		return err
	}
	for _, s := range steps {
		if err := s.unchanged(); err != nil {
			return err
		}
	}
	p.sweep(steps)
	var done []step
	for _, s := range steps {
		changed, err := s.do()
		if changed { // also when it could not be synced
			done = append(done, s)
		}
		if err == nil {
			continue
		}
		for _, s := range slices.Backward(done) {
			err = errors.Join(err, s.undo())
		}
		return err
	}
	return p.tidy()
}

// sweep clears the directories of the plan. Those of files that are finished
// and as they were belong to it: a crash came before the edit.
func (p *Plan) sweep(steps []step) {
	for _, s := range steps {
		sweep(filepath.Dir(s.target))
	}
	for _, path := range p.finished {
		if target, err := followLink(path); err == nil {
			sweep(filepath.Dir(target))
		}
	}
}

// steps orders the writes, so that a crash between any two of them can be
// undone: the list of the directories that we make before they are made, undo
// records before the edits that they undo, and gone after the edits that they
// are for.
func (p *Plan) steps() (steps []step, err error) {
	list, known, err := readDirs(p.stateDir)
	if err != nil {
		return nil, err
	}
	var records, edits []step
	var dirs []string
	for _, c := range p.Changes {
		if c.record != nil {
			s, err := recordStep(p.stateDir, c.Path, encode(c.record))
			if err != nil {
				return nil, err
			}
			records = append(records, s)
		}
		if c.After != nil {
			missing, err := missingDirs(filepath.Dir(c.target))
			if err != nil {
				return nil, err
			}
			dirs = mergeDirs(dirs, missing)
		}
		edits = append(edits, step{path: c.Path, target: c.target, before: c.Before, after: c.After,
			beforeMode: c.BeforeMode, mode: c.Mode})
	}
	if len(records) > 0 {
		if steps, err = p.listSteps(list, known, dirs); err != nil {
			return nil, err
		}
	}
	steps = slices.Concat(steps, p.dirSteps(dirs), records, edits)
	for _, path := range p.finished {
		s, err := recordStep(p.stateDir, path, nil)
		if err != nil {
			return nil, err
		}
		if s.before != nil {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// listSteps makes the state directory, and puts it and dirs on the list of what we made.
func (p *Plan) listSteps(list []byte, known, dirs []string) ([]step, error) {
	ours, err := missingDirs(p.stateDir)
	if err != nil {
		return nil, err
	}
	steps := p.dirSteps(ours)
	if list == nil {
		ours = mergeDirs(ours, ownDirs(p.stateDir)) // a crash came before the list
	}
	all := encode(mergeDirs(known, mergeDirs(ours, dirs)))
	if len(ours)+len(dirs) > 0 && !bytes.Equal(all, list) {
		name := filepath.Join(p.stateDir, dirsName)
		steps = append(steps, step{path: name, target: name, before: list, after: all, beforeMode: 0o600, mode: 0o600})
	}
	return steps, nil
}

// dirSteps makes directories, outermost first. Ours are private; a client's own directory gets the usual mode.
func (p *Plan) dirSteps(dirs []string) (steps []step) {
	for _, dir := range dirs {
		mode := fs.FileMode(0o755)
		if within(dir, p.stateDir) || within(p.stateDir, dir) {
			mode = 0o700
		}
		steps = append(steps, step{path: dir, target: dir, mode: mode, dir: true})
	}
	return steps
}

// recordStep replaces the undo record of path.
func recordStep(stateDir, path string, after []byte) (step, error) {
	name := recordPath(stateDir, path)
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return step{}, err
	}
	return step{path: name, target: name, before: before, after: after, beforeMode: 0o600, mode: 0o600}, nil
}

func (s step) unchanged() error {
	if s.dir {
		return nil // somebody else may have made it by now
	}
	f, err := readFile(s.path)
	if err != nil {
		return err
	}
	same := f.target == s.target && (f.data == nil) == (s.before == nil) && bytes.Equal(f.data, s.before)
	if !same || f.data != nil && f.mode != s.beforeMode {
		return fmt.Errorf("edit %s: %w", s.path, ErrChanged)
	}
	return nil
}

// do says whether it changed anything, which it may have when it fails.
func (s step) do() (changed bool, err error) {
	if err := s.unchanged(); err != nil {
		return false, err
	}
	switch {
	case s.dir:
		err = os.Mkdir(s.target, s.mode)
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
	case s.after != nil:
		err = replaceFile(s.target, s.after, s.mode)
	case s.before != nil:
		err = os.Remove(s.target)
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, syncDir(filepath.Dir(s.target))
}

// undo puts the file back, unless somebody has changed it since. A directory
// that somebody uses by now stays.
func (s step) undo() error {
	if s.dir {
		os.Remove(s.target)
		return nil
	}
	back := step{path: s.path, target: s.target, before: s.after, after: s.before, beforeMode: s.mode, mode: s.beforeMode}
	if _, err := back.do(); err != nil {
		return fmt.Errorf("put back: %w", err)
	}
	return nil
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// tidy removes the directories that we created and that are empty again. The
// list goes with the last record, before those that it is in.
func (p *Plan) tidy() error {
	list, dirs, err := readDirs(p.stateDir)
	if err != nil {
		return err
	}
	left, err := readRecords(p.stateDir)
	if err != nil || len(left) > 0 && len(p.finished) == 0 {
		return err
	}
	sweep(p.stateDir)
	if dirs, err = removeDirs(dirs); err != nil {
		return err
	}
	name := filepath.Join(p.stateDir, dirsName)
	if len(left) == 0 {
		if list == nil {
			dirs = ownDirs(p.stateDir)
		} else if err := os.Remove(name); err != nil {
			return err
		}
		_, err = removeDirs(dirs)
		return err
	}
	if after := encode(dirs); list != nil && !bytes.Equal(after, list) {
		_, err = step{path: name, target: name, before: list, after: after, beforeMode: 0o600, mode: 0o600}.do()
	}
	return err
}

// ownDirs returns what a crash may have left of the state directory, beside no
// list of ours: the directories that bear our name.
func ownDirs(stateDir string) []string {
	return []string{filepath.Dir(stateDir), stateDir}
}

// removeDirs removes what is empty of dirs, innermost first, and returns those
// that still exist. A directory that somebody uses now is none of our business.
func removeDirs(dirs []string) (left []string, err error) {
	for _, dir := range slices.Backward(mergeDirs(dirs, nil)) {
		switch rerr := os.Remove(dir); {
		case errors.Is(rerr, syscall.ENOTEMPTY), errors.Is(rerr, fs.ErrExist):
			left = append(left, dir)
		case rerr != nil && !absent(rerr):
			left, err = append(left, dir), errors.Join(err, rerr)
		}
	}
	slices.Reverse(left)
	return left, err
}
