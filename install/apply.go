package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/inbox/atomicfile"
)

// ErrChanged says that a file is no longer as it was when the plan was made.
var ErrChanged = errors.New("changed meanwhile, run again")

// Apply carries out the plan. All files are compared with what was planned
// from before the first is written, and each again right before its turn; what
// was written before an error is put back. ErrChanged can be tested for. When
// another plan was applied since this one was made, it is made anew first.
func (p *Plan) Apply() error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err = p.renew(); err == nil {
		err = p.apply()
	}
	if err != nil {
		removeDirs(p.made)
	}
	return err
}

// renew makes the plan anew if another one was applied meanwhile. The caller has the lock.
func (p *Plan) renew() error {
	j, err := readJournal(p.stateDir)
	if err != nil || !p.overlaps && bytes.Equal(j.file.data, p.journal.file.data) {
		return err
	}
	fresh, err := p.again()
	if err != nil {
		return err
	}
	fresh.made = p.made
	*p = *fresh
	return nil
}

func (p *Plan) apply() error {
	steps, dirs, err := p.steps()
	if err != nil {
		return err
	}
	for _, c := range steps {
		if err := c.unchanged(); err != nil {
			return err
		}
	}
	p.removeTemps(steps)
	for i, c := range steps {
		if err = p.do(c); err == nil {
			continue
		}
		for _, done := range slices.Backward(steps[:i+1]) { // the last may be done and not be synced
			err = errors.Join(err, p.undo(done))
		}
		removeDirs(dirs)
		return err
	}
	return p.finish()
}

// removeTemps removes the temporary files that a crash left in the directories of the plan. Where a crash
// came before the edit, only an undo record tells of the directory.
func (p *Plan) removeTemps(steps []Change) {
	atomicfile.Sweep(p.journal.file.target)
	for _, c := range steps {
		atomicfile.Sweep(c.target)
	}
	for _, path := range p.finished {
		if target, err := followLink(path); err == nil {
			atomicfile.Sweep(target)
		}
	}
}

// steps puts the journal before the edits that it undoes. It also returns the directories that they need
// and that are not there; the journal tells of them before they are made, but for those that lock has made.
func (p *Plan) steps() (steps []Change, dirs []string, err error) {
	steps, dirs = slices.Clone(p.Changes), p.made
	if p.recorded {
		steps = slices.Insert(steps, 0, p.journal.change())
	}
	for _, c := range steps {
		if c.After != nil {
			missing, err := c.missingDirs()
			if err != nil {
				return nil, nil, err
			}
			dirs = mergeDirs(dirs, missing)
		}
	}
	if p.recorded {
		p.journal.Dirs = mergeDirs(p.journal.Dirs, dirs)
		if !slices.Contains(dirs, filepath.Dir(p.stateDir)) { // it was there
			p.journal.Dirs = mergeDirs(p.journal.Dirs, p.unlisted())
		}
		steps[0] = p.journal.change()
	}
	return steps, dirs, nil
}

// missingDirs returns the directories to be made. Root makes nothing that the owner of the place could not
// use: what sudo leaves in a user's home would shut the client out of its own configuration.
func (c Change) missingDirs() ([]string, error) {
	missing, err := missingDirs(filepath.Dir(c.target))
	switch {
	case err != nil:
		return nil, err
	case len(missing) > 0:
		err = atomicfile.ShutsOut(filepath.Dir(missing[0]))
	case c.Before == nil && c.Mode&0o004 == 0:
		err = atomicfile.ShutsOut(filepath.Dir(c.target))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", c.Path, err)
	}
	return missing, nil
}

func (c Change) unchanged() error {
	f, err := readFile(c.Path)
	if err != nil {
		return err
	}
	same := f.target == c.target && (f.data == nil) == (c.Before == nil) && bytes.Equal(f.data, c.Before)
	if !same || f.data != nil && f.mode != c.BeforeMode {
		return fmt.Errorf("edit %s: %w", c.Path, ErrChanged)
	}
	return nil
}

func (p *Plan) do(c Change) error {
	if err := c.unchanged(); err != nil {
		return err
	}
	switch {
	case c.After != nil:
		if err := p.makeDirs(filepath.Dir(c.target)); err != nil {
			return err
		}
		return atomicfile.Rewrite(c.target, c.After, c.Mode)
	case c.Before != nil:
		return atomicfile.Remove(c.target)
	}
	return nil
}

// undo puts the file back, unless nothing was done or somebody has changed it since.
func (p *Plan) undo(c Change) error {
	if c.unchanged() == nil {
		return nil
	}
	c.Before, c.After, c.BeforeMode, c.Mode = c.After, c.Before, c.Mode, c.BeforeMode
	if err := p.do(c); err != nil {
		return fmt.Errorf("put back: %w", err)
	}
	return nil
}

// makeDirs makes dir and what is missing above it. Ours are private; a client's own directory gets the usual mode.
func (p *Plan) makeDirs(dir string) error {
	mode := fs.FileMode(0o755)
	if dir == p.stateDir {
		mode = 0o700
	}
	missing, err := missingDirs(dir)
	if err != nil {
		return err
	}
	for _, dir := range missing {
		if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := atomicfile.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// finish forgets what was undone, and removes the directories that we created and that are empty again. The
// journal goes when nothing is left to undo, before the directories that it is in.
func (p *Plan) finish() error {
	j, err := readJournal(p.stateDir)
	if err != nil {
		return err
	}
	j.forget(p.finished...)
	if len(j.Files) > 0 && len(p.finished) == 0 {
		return nil
	}
	if j.Dirs, err = removeDirs(mergeDirs(j.Dirs, p.made)); err != nil {
		return err
	}
	if len(j.Files) > 0 {
		return p.do(j.change())
	}
	if err := p.do(j.file.change(nil, 0)); err != nil {
		return err
	}
	// Those that have our name are ours even when a crash came before the journal.
	_, err = removeDirs(slices.Concat(j.Dirs, p.unlisted(), []string{filepath.Dir(p.stateDir), p.stateDir}))
	return err
}

// unlisted are our directories and those above them in the home, where there was no journal: a kill may have come before
// it was there, or after it went, and nothing else tells that c2c has made them.
func (p *Plan) unlisted() (dirs []string) {
	if p.journal.file.data == nil {
		for dir := p.stateDir; strings.HasPrefix(dir, p.home+"/"); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
