package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/claims"
)

// finish saves the files that are not mail, removes the emptied root, and puts a link to the new root in its place. Only an empty directory
// can be removed. So if another process still writes a file there, the file is not lost.
func (m *merging) finish(ctx context.Context) error {
	own := filepath.Dir(m.From)
	place := m.savedIn()
	if err := m.dropRegistry(ctx); err != nil {
		return err
	}
	keep := func(dir *atomicfile.Dir, name string) error {
		to, err := m.to.Dir().Sub(place, true)
		if err != nil {
			return err
		}
		defer to.Close()
		as := name
		for n := 2; ; n++ { // an earlier merge may have saved a file with this name
			if _, err := to.Stat(as); errors.Is(err, fs.ErrNotExist) {
				break
			}
			as = fmt.Sprintf("%s.%d", name, n)
		}
		m.Files = append(m.Files, filepath.Join(place, as))
		return dir.Move(name, to, as)
	}
	if err := m.eachRest(m.from.Dir(), "", keep); err != nil {
		return err
	}
	return m.leaveLink(own, keep)
}

// savedIn returns the directory for files that are not mail. It is below the new root.
func (m *merging) savedIn() string { return "from-" + filepath.Base(filepath.Dir(m.From)) }

// listLeftovers lists the files that finish would save.
func (m *merging) listLeftovers(context.Context) error {
	return m.eachRest(m.from.Dir(), "", func(_ *atomicfile.Dir, name string) error {
		m.Files = append(m.Files, filepath.Join(m.savedIn(), name))
		return nil
	})
}

// dropRegistry removes the registry of the old root, if no session has registered there meanwhile.
func (m *merging) dropRegistry(ctx context.Context) error {
	return m.from.Locks.With(ctx, sessions.RegistryLock, func() error {
		rows, err := m.from.ReadRegistry()
		if err == nil && len(rows) > 0 {
			err = fmt.Errorf("%q has registered there meanwhile: run this again", rows[0].Alias())
		}
		if err == nil {
			err = new(inbox.Pruned).Remove(m.from.Dir(), sessions.RegistryFileName, false)
		}
		return err
	})
}

// eachRest removes the files that every root has, and calls keep for all other files except mail. A mail file that is still there was made
// meanwhile, and stays. The argument at is the path of dir below the root.
func (m *merging) eachRest(dir *atomicfile.Dir, at string, keep func(dir *atomicfile.Dir, name string) error) error {
	names, err := dir.Names()
	for _, name := range names {
		path := filepath.Join(at, name)
		switch {
		case err != nil:
		case path == "sessions", path == "sessions/ids", path == archives, path == owed.Directory:
			err = m.eachBelow(dir, path, keep)
		case m.dry && (slices.Contains(moved, path) || strings.HasSuffix(path, sessions.AnswersEnd)), path == sessions.RegistryFileName, isMail(path):
		case at == "sessions/ids", path == callers.DeadLetterFile && isEmpty(dir, name), path == sessions.FileName, strings.HasSuffix(name, ".lock"), atomicfile.IsTemp(name):
			if !m.dry {
				err = dir.Remove(name)
			}
		case path != callers.DeadLetterFile:
			err = keep(dir, name)
		}
	}
	return err
}

// moved are files that are gone before finish is called.
var moved = []string{callers.DeadLetterFile, sessions.NotifyFile, claims.FileName}

const archives = "archive" // the name is from package inbox

// isMail reports whether a path below a root is a mail file of a session.
func isMail(path string) bool {
	at, name := filepath.Split(path)
	for _, suffix := range map[string][]string{"": {".inbox.json", ".lease"}, archives + "/": {".jsonl", ".old"}, "sessions/": {".json"}, owed.Directory + "/": {owed.Suffix}}[at] {
		if sid, ok := strings.CutSuffix(name, suffix); ok && mail.ValidName(sid) {
			return true
		}
	}
	return false
}

func isEmpty(dir *atomicfile.Dir, name string) bool {
	info, err := dir.Stat(name)
	return err == nil && info.Size() == 0
}

func (m *merging) eachBelow(dir *atomicfile.Dir, path string, keep func(dir *atomicfile.Dir, name string) error) error {
	sub, err := dir.Sub(filepath.Base(path), false)
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := m.eachRest(sub, path, keep); err != nil || m.dry {
		return err
	}
	return dir.RemoveDir(filepath.Base(path))
}

// leaveLink removes the directories of the old root, and makes the link to the new one.
func (m *merging) leaveLink(own string, keep func(dir *atomicfile.Dir, name string) error) error {
	repos, err := atomicfile.Open(filepath.Dir(own))
	if err != nil {
		return err
	}
	defer repos.Close()
	dir, err := repos.Sub(filepath.Base(own), false)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.RemoveDir("broker"); err != nil {
		return fmt.Errorf("%w: a program has just written there: run this again", err)
	}
	names, err := dir.Names()
	for _, name := range names {
		if err == nil {
			err = keep(dir, name)
		}
	}
	if err == nil {
		err = repos.RemoveDir(filepath.Base(own))
	}
	if err != nil {
		return err
	}
	target := filepath.Dir(m.Into)
	if filepath.Dir(target) == filepath.Dir(own) {
		target = filepath.Base(target)
	}
	err = repos.Symlink(target, filepath.Base(own))
	if errors.Is(err, fs.ErrExist) {
		err = nil // a command that just ran there has made the link
	}
	m.forgetNote(filepath.Dir(repos.Path()), filepath.Base(own))
	return errors.Join(err, repos.Sync())
}

// forgetNote removes the link by which other clones found the old root. It was kept for "c2c doctor", which does not need it any more: the
// old root is gone.
func (m *merging) forgetNote(state, fp string) {
	notes, _ := filepath.Glob(filepath.Join(state, project.ProjectsDir, "*."+fp))
	for _, note := range notes {
		os.Remove(note)
	}
}
