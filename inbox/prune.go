package inbox

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"c2c/inbox/archive"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
)

// An Entry is the name of a file in a directory. The file and the directory may be absent.
type Entry struct {
	Dir  *atomicfile.Dir // nil: there is no such directory
	Name string
}

// eachFile calls f with the files in more, then with all files that a mailbox may have, its lock last.
func (m *Mailbox) eachFile(f func(dir *atomicfile.Dir, name string) error, more ...Entry) error {
	archives, err := m.root.Sub(archive.Dir, false)
	if err == nil {
		defer archives.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, at := range append(more, Entry{m.root, m.LeaseName()}, Entry{m.root, m.inboxName()}, Entry{archives, m.archive.OldName()},
		Entry{archives, m.archive.Name()}, Entry{archives, m.archive.LockName()}, Entry{m.root, m.LockName()}) {
		if at.Dir == nil {
			continue
		}
		if err := f(at.Dir, at.Name); err != nil {
			return err
		}
	}
	return nil
}

// Changed returns when a file of the mailbox was last written, or zero if there is none.
func (m *Mailbox) Changed() (last time.Time, err error) {
	err = m.eachFile(func(dir *atomicfile.Dir, name string) error {
		info, err := dir.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || name == m.archive.OldName() { // a prune changes this directory, too
			return nil
		}
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return err
	})
	return last, err
}

// Discard removes an empty mailbox with its archive and lock files, and also the session's files in more. If mail waits or another
// process holds one of the locks, it removes nothing, and gone is false. Names in more that end in .lock are locks, too. The caller
// must make sure that the session is gone and does not come back meanwhile. If dry is set, Discard only counts.
func (m *Mailbox) Discard(dry bool, more ...Entry) (p archive.Pruned, gone bool, err error) {
	if some, err := m.Used(); err != nil || dry && some {
		return p, false, err
	}
	err = m.eachFile(func(dir *atomicfile.Dir, name string) error { return p.Remove(dir, name, true) }, more...)
	if err != nil || dry {
		return p, err == nil, err
	}
	gone, err = m.discard(func() error { return nil }, false, more...)
	return p, gone, err
}

// DiscardButArchive is Discard for a session that may come back: it keeps the archive.
func (m *Mailbox) DiscardButArchive(more ...Entry) (gone bool, err error) {
	return m.discard(func() error { return nil }, true, more...)
}

// MergeInto is Discard that first adds the archive to the archive of the same session in another root. After a kill in between,
// both archives have the records; the next merge adds no record twice.
func (m *Mailbox) MergeInto(ctx context.Context, to *Mailbox, more ...Entry) (gone bool, err error) {
	return m.discard(func() error { return to.archive.Take(ctx, m.archive) }, false, more...)
}

// discard locks the mailbox, then calls before, and then removes the files. It removes nothing if mail waits or before returns an
// error.
func (m *Mailbox) discard(before func() error, keepArchive bool, more ...Entry) (gone bool, err error) {
	free, release, err := m.lockAll(more...)
	defer release()
	if err != nil || !free {
		return false, err
	}
	err = m.inLease(func(dir *atomicfile.Dir) error { _, err := removeLeftovers(dir); return err })
	some, uerr := m.Used()
	if err = errors.Join(err, uerr); err == nil && !some {
		err = before()
	}
	if err != nil || some {
		return false, err
	}
	// If we are killed here, the next prune removes the rest.
	return true, m.eachFile(func(dir *atomicfile.Dir, name string) error {
		if keepArchive && filepath.Base(dir.Path()) == archive.Dir && (name == m.archive.Name() || name == m.archive.OldName()) {
			return nil
		}
		return errors.Join(dir.RemoveLeftover(name), new(archive.Pruned).Remove(dir, name, false), dir.Sync())
	}, more...)
}

// lockAll tries to take the mailbox's locks and the locks in more. The caller must always call release, which releases the locks that
// lockAll got.
func (m *Mailbox) lockAll(more ...Entry) (free bool, release func(), err error) {
	var locks []*filelock.Lock
	free = true
	err = m.eachFile(func(dir *atomicfile.Dir, name string) error {
		if !free || !strings.HasSuffix(name, ".lock") {
			return nil
		}
		lk, err := filelock.Open(dir, name)
		if err == nil {
			locks = append(locks, lk)
			free, err = lk.Try()
		}
		return err
	}, more...)
	return free, func() {
		for _, lk := range locks {
			lk.Release()
		}
	}, err
}

// Sessions returns the ids of all sessions that have files of a mailbox in a root.
func Sessions(root *atomicfile.Dir) (map[string]bool, error) {
	sids := map[string]bool{}
	if err := AddSessions(sids, root, ".inbox.json", ".inbox.lock", ".lease"); err != nil {
		return nil, err
	}
	dir, err := root.Sub(archive.Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return sids, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return sids, AddSessions(sids, dir, ".jsonl", ".old", ".lock")
}

// AddSessions adds the session ids of the files in a directory: each name is an id and one of the suffixes.
func AddSessions(sids map[string]bool, dir *atomicfile.Dir, suffixes ...string) error {
	names, err := dir.Names()
	for _, name := range names {
		for _, suffix := range suffixes {
			if sid, ok := strings.CutSuffix(name, suffix); ok && mail.ValidName(sid) {
				sids[sid] = true
			}
		}
	}
	return err
}
