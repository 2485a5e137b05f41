package inbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Pruned counts what was removed, or would be.
type Pruned struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Add counts one more.
func (p *Pruned) Add(bytes int64) { p.Count, p.Bytes = p.Count+1, p.Bytes+bytes }

// PruneArchive removes the parts of the archive to which nothing was added since a time. The ids in them are
// forgotten. With dry it only counts.
func (m *Mailbox) PruneArchive(ctx context.Context, before time.Time, dry bool) (p Pruned, err error) {
	a, err := m.openArchive()
	if err != nil {
		return p, err
	}
	a.close()
	if a.newest == nil && len(a.bases) == 0 {
		return p, nil
	}
	dir, err := m.root.Sub(archiveDir, false)
	if err != nil {
		return p, err
	}
	defer dir.Close()
	if dry {
		return m.pruneParts(dir, before, true)
	}
	lk, err := filelock.Acquire(ctx, dir, m.sid+".lock")
	if err != nil {
		return p, err
	}
	defer lk.Release()
	return m.pruneParts(dir, before, false)
}

func (m *Mailbox) pruneParts(dir *atomicfile.Dir, before time.Time, dry bool) (p Pruned, err error) {
	a, err := m.openArchive()
	if err != nil {
		return p, err
	}
	defer func() { a.close() }()
	if info, err := dir.Stat(m.archiveName()); err == nil && info.Size() > 0 && info.ModTime().Before(before) {
		if dry {
			p.Add(info.Size())
		} else if err := m.rotateArchive(dir, a.base); err != nil {
			return p, err
		} else if a.close(); err == nil {
			if a, err = m.openArchive(); err != nil {
				return p, err
			}
		}
	}
	var gone []string
	for _, base := range a.bases {
		info, err := a.old.Stat(segmentName(base))
		if err != nil {
			return p, err
		}
		if info.Size() > 0 && info.ModTime().Before(before) {
			gone = append(gone, segmentName(base))
			p.Add(info.Size())
		}
	}
	if dry || len(gone) == 0 {
		return p, nil
	}
	// An empty part stays behind the last one: it says where the next one begins, so that places stay what they are.
	if f, err := a.old.Open(segmentName(a.base), os.O_RDWR|os.O_CREATE); err != nil {
		return p, err
	} else if err := errors.Join(f.Close(), a.old.Sync()); err != nil {
		return p, err
	}
	for _, name := range gone {
		if err := a.old.Remove(name); err != nil {
			return p, err
		}
	}
	return p, a.old.Sync()
}

// Changed is when anything of the mailbox was last written; zero when there is nothing.
func (m *Mailbox) Changed() (last time.Time, err error) {
	for _, f := range m.files() {
		dir, err := at(m.root, f.dir)
		if errors.Is(err, fs.ErrNotExist) || f.name == m.oldName() { // which a prune changes, too
			continue
		}
		if err != nil {
			return last, err
		}
		info, err := dir.Stat(f.name)
		dir.Close()
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return last, err
		}
	}
	return last, nil
}

type place struct{ dir, name string }

// files are all that a mailbox may have, the locks last.
func (m *Mailbox) files() []place {
	return []place{{"", m.leaseName()}, {"", m.inboxName()}, {archiveDir, m.oldName()}, {archiveDir, m.archiveName()},
		{archiveDir, m.sid + ".lock"}, {"", m.LockName()}}
}

// at opens a directory below the root, or the root once more.
func at(root *atomicfile.Dir, dir string) (*atomicfile.Dir, error) {
	if dir == "" {
		return atomicfile.Open(root.Path())
	}
	return root.Sub(dir, false)
}

// Discard removes an empty mailbox with its archive and its lock files. It does nothing, and says so, when
// something waits or somebody has one of the locks. The caller makes sure that the session is gone and does
// not come back meanwhile. With dry it only counts.
func (m *Mailbox) Discard(dry bool) (p Pruned, gone bool, err error) {
	if some, err := m.used(); err != nil || dry && some {
		return p, false, err
	}
	if err := m.removeAll(&p, true); err != nil || dry {
		return p, err == nil, err
	}
	for _, f := range []place{{"", m.LockName()}, {archiveDir, m.sid + ".lock"}} {
		dir, err := at(m.root, f.dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, false, err
		}
		defer dir.Close()
		lk, err := filelock.Open(dir, f.name)
		if err != nil {
			return p, false, err
		}
		defer lk.Release()
		if free, err := lk.Try(); err != nil || !free {
			return p, false, err
		}
	}
	if dir, err := m.root.Sub(m.leaseName(), false); err == nil {
		_, err = tidy(dir)
		if err = errors.Join(err, dir.Close()); err != nil {
			return p, false, err
		}
	}
	if some, err := m.used(); err != nil || some {
		return p, false, err
	}
	return p, true, m.removeAll(&Pruned{}, false)
}

// removeAll removes the files, the locks last: whoever is killed in between leaves what the next prune finds.
func (m *Mailbox) removeAll(p *Pruned, dry bool) error {
	for _, f := range m.files() {
		dir, err := at(m.root, f.dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = removeTree(dir, f.name, p, dry)
		if err == nil && !dry {
			err = dir.Sync()
		}
		if err = errors.Join(err, dir.Close()); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a file, or a directory with the files in it.
func removeTree(dir *atomicfile.Dir, name string, p *Pruned, dry bool) error {
	info, err := dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if p.Add(info.Size()); dry {
			return nil
		}
		return dir.Remove(name)
	}
	sub, err := dir.Sub(name, false)
	if err != nil {
		return err
	}
	defer sub.Close()
	names, err := sub.Names()
	for _, inside := range names {
		if err == nil {
			err = removeTree(sub, inside, p, dry)
		}
	}
	if err != nil || dry {
		return err
	}
	return dir.RemoveDir(name)
}

// Sessions gives the ids of all sessions that have files of a mailbox below a root.
func Sessions(root *atomicfile.Dir) (map[string]bool, error) {
	sids := map[string]bool{}
	for dir, suffixes := range map[string][]string{"": {".inbox.json", ".inbox.lock", ".lease"}, archiveDir: {".jsonl", ".old", ".lock"}} {
		d, err := at(root, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		names, err := d.Names()
		d.Close()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			for _, suffix := range suffixes {
				if sid, ok := strings.CutSuffix(name, suffix); ok && ValidName(sid) {
					sids[sid] = true
				}
			}
		}
	}
	return sids, nil
}
