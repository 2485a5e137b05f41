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

	"c2c/internal/atomicfile"
)

// Apply carries out the plan. If another plan was applied after this plan was made, Apply first
// makes the plan again. Before it writes the first file, it checks that every file still has the
// content for which the plan was made; it checks each file again right before it replaces the file.
// On an error it restores the files that it has written. Callers may test for ErrChanged.
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
		RemoveDirs(p.made)
	}
	return err
}

// renew makes the plan again if another plan was applied meanwhile. The caller holds the lock.
func (p *Plan) renew() error {
	j, err := readJournal(p.stateDir)
	if err != nil || !p.overlaps && bytes.Equal(j.file.Data, p.journal.file.Data) {
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
		if err := c.Unchanged(); err != nil {
			return err
		}
	}
	p.removeTemps(steps)
	for i, c := range steps {
		if err = p.do(c); err == nil {
			continue
		}
		written := steps[:i+1] // also the last step, which may be written and not yet synced
		if errors.Is(err, ErrChanged) {
			written = steps[:i]
		}
		for _, done := range slices.Backward(written) {
			err = errors.Join(err, p.undo(done))
		}
		RemoveDirs(dirs)
		return err
	}
	return p.finish()
}

// removeTemps removes the temporary files that a crash has left in the directories of the plan. If
// the crash came before an edit, only the undo record of that edit names the directory.
func (p *Plan) removeTemps(steps []Change) {
	atomicfile.Sweep(p.journal.file.Target)
	for _, c := range steps {
		atomicfile.Sweep(c.Target)
	}
	for _, path := range p.finished {
		if target, err := FollowLink(path); err == nil {
			atomicfile.Sweep(target)
		}
	}
}

// steps returns the edits; the edit of the journal comes before the edits that the journal can
// undo. steps also returns the missing directories that the edits need. The journal lists each of
// them before c2c makes it, except those that p.lock has already made.
func (p *Plan) steps() (steps []Change, dirs []string, err error) {
	steps, dirs = slices.Clone(p.Changes), p.made
	if p.recorded {
		steps = slices.Insert(steps, 0, p.journal.change())
	}
	for _, c := range steps {
		if c.After != nil {
			missing, err := c.MissingDirs()
			if err != nil {
				return nil, nil, err
			}
			dirs = MergeDirs(dirs, missing)
		}
	}
	if p.recorded {
		p.journal.Dirs = MergeDirs(p.journal.Dirs, dirs)
		if !slices.Contains(dirs, filepath.Dir(p.stateDir)) { // the directory existed before
			p.journal.Dirs = MergeDirs(p.journal.Dirs, p.unlisted())
		}
		steps[0] = p.journal.change()
	}
	return steps, dirs, nil
}

func (p *Plan) do(c Change) error {
	if err := c.Unchanged(); err != nil {
		return err
	}
	switch {
	case c.After != nil:
		if err := p.makeDirs(filepath.Dir(c.Target)); err != nil {
			return err
		}
		return atomicfile.Rewrite(c.Target, c.After, c.Mode, c.Unchanged)
	case c.Before != nil:
		return atomicfile.Remove(c.Target)
	}
	return nil
}

// undo restores a file that c2c has written, if no other program has changed it since.
func (p *Plan) undo(c Change) error {
	if c.Unchanged() == nil {
		return nil
	}
	c.Before, c.After, c.BeforeMode, c.Mode = c.After, c.Before, c.Mode, c.BeforeMode
	if err := p.do(c); err != nil {
		return fmt.Errorf("put back: %w", err)
	}
	return nil
}

// makeDirs makes dir and its missing parents. Our own directory is private; the directories of a
// client get the usual mode.
func (p *Plan) makeDirs(dir string) error {
	mode := fs.FileMode(0o755)
	if dir == p.stateDir {
		mode = 0o700
	}
	missing, err := MissingDirs(dir)
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

// finish drops the records of undone edits, and removes the directories that c2c has made if they
// are empty again. When nothing is left to undo, it removes the journal and the directories above
// it.
func (p *Plan) finish() error {
	j, err := readJournal(p.stateDir)
	if err != nil {
		return err
	}
	j.forget(p.finished...)
	if len(j.Files) > 0 && len(p.finished) == 0 {
		return nil
	}
	if j.Dirs, err = RemoveDirs(MergeDirs(j.Dirs, p.made)); err != nil {
		return err
	}
	if len(j.Files) > 0 {
		return p.do(j.change())
	}
	if err := p.do(j.file.Change(nil, 0)); err != nil {
		return err
	}
	// Directories with our name are ours even if c2c crashed before it wrote the journal.
	_, err = RemoveDirs(slices.Concat(j.Dirs, p.unlisted(), []string{filepath.Dir(p.stateDir), p.stateDir}))
	return err
}

// unlisted returns our own directories in the home, if there was no journal. c2c may have been
// killed before it wrote the journal, or after it removed the journal. Then there is no other
// record that c2c has made these directories.
func (p *Plan) unlisted() (dirs []string) {
	if p.journal.file.Data == nil {
		for dir := p.stateDir; strings.HasPrefix(dir, p.home+"/"); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
