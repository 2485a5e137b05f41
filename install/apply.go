package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrChanged says that a file is no longer as it was when the plan was made.
var ErrChanged = errors.New("changed meanwhile, run again")

// A step replaces one file. A nil before means that it must not exist, a nil
// after that it is removed.
type step struct {
	path, target     string
	before, after    []byte
	beforeMode, mode fs.FileMode
}

// Apply carries out the plan. All files are compared with what was planned
// from before the first is written, and each again right before its turn; what
// was written before an error is put back. ErrChanged can be tested for.
func (p *Plan) Apply() error {
	steps, dirs, err := p.steps()
	if err != nil {
		return err
	}
	for _, s := range steps {
		if err := s.unchanged(); err != nil {
			return err
		}
	}
	var done []step
	made, err := makeDirs(dirs, p.stateDir)
	for _, s := range steps {
		if err != nil {
			break
		}
		if err = s.do(); err == nil {
			done = append(done, s)
		}
	}
	if err != nil {
		for _, s := range slices.Backward(done) {
			err = errors.Join(err, s.undo())
		}
		removeDirs(made)
		return err
	}
	return p.tidy()
}

// steps orders the writes: undo records before the edits that they undo, and
// gone after the edits that they are for. It also returns the directories that
// must be created, outermost first.
func (p *Plan) steps() (steps []step, dirs []string, err error) {
	dirsData, known, err := readDirs(p.stateDir)
	if err != nil {
		return nil, nil, err
	}
	var records, edits []step
	for _, c := range p.Changes {
		if c.record != nil {
			s, err := recordStep(p.stateDir, c.Path, encode(c.record))
			if err != nil {
				return nil, nil, err
			}
			records = append(records, s)
		}
		if c.After != nil {
			dirs = append(dirs, missingDirs(filepath.Dir(c.target))...)
		}
		edits = append(edits, step{path: c.Path, target: c.target, before: c.Before, after: c.After,
			beforeMode: c.BeforeMode, mode: c.Mode})
	}
	if len(records) > 0 {
		dirs = mergeDirs(dirs, missingDirs(p.stateDir))
		name := filepath.Join(p.stateDir, dirsName)
		if merged := encode(mergeDirs(known, dirs)); len(dirs) > 0 && !bytes.Equal(merged, dirsData) {
			steps = append(steps, step{path: name, target: name, before: dirsData, after: merged,
				beforeMode: 0o600, mode: 0o600})
		}
	}
	steps = slices.Concat(steps, records, edits)
	for _, path := range p.finished {
		s, err := recordStep(p.stateDir, path, nil)
		if err != nil {
			return nil, nil, err
		}
		if s.before != nil {
			steps = append(steps, s)
		}
	}
	return steps, mergeDirs(dirs, nil), nil
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

func (s step) do() error {
	if err := s.unchanged(); err != nil {
		return err
	}
	return put(s.target, s.after, s.mode, s.before != nil)
}

// undo puts the file back, unless somebody has changed it since.
func (s step) undo() error {
	back := step{path: s.path, target: s.target, before: s.after, after: s.before, beforeMode: s.mode, mode: s.beforeMode}
	if err := back.do(); err != nil {
		return fmt.Errorf("put back: %w", err)
	}
	return nil
}

func put(path string, data []byte, mode fs.FileMode, exists bool) error {
	switch {
	case data != nil:
		return replaceFile(path, data, mode)
	case exists:
		return removeFile(path)
	}
	return nil
}

// makeDirs creates dirs and returns those that it created. Ours are private;
// a client's own directory gets the usual mode.
func makeDirs(dirs []string, stateDir string) (made []string, err error) {
	for _, dir := range dirs {
		mode := fs.FileMode(0o755)
		if within(dir, stateDir) || within(stateDir, dir) {
			mode = 0o700
		}
		if err := os.Mkdir(dir, mode); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return made, err
		}
		made = append(made, dir)
		if err := syncDir(filepath.Dir(dir)); err != nil {
			return made, err
		}
	}
	return made, nil
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// tidy removes the directories that we created and that are empty again. The
// list goes with the last record.
func (p *Plan) tidy() error {
	if len(p.finished) == 0 {
		return nil
	}
	_, dirs, err := readDirs(p.stateDir)
	if err != nil {
		return err
	}
	left, err := readRecords(p.stateDir)
	if err != nil {
		return err
	}
	name := filepath.Join(p.stateDir, dirsName)
	if len(left) == 0 && dirs != nil {
		if err := removeFile(name); err != nil {
			return err
		}
	}
	dirs = removeDirs(dirs)
	if len(left) > 0 && dirs != nil {
		return replaceFile(name, encode(dirs), 0o600)
	}
	return nil
}

// removeDirs removes what is empty of dirs, innermost first, and returns those
// that still exist. A directory that somebody uses now is none of our business.
func removeDirs(dirs []string) (left []string) {
	for _, dir := range slices.Backward(mergeDirs(dirs, nil)) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, dir)
		}
	}
	slices.Reverse(left)
	return left
}
