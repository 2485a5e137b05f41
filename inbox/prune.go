package inbox

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// An Entry is the name of a file in a directory. The file and the directory may be absent.
type Entry struct {
	Dir  *atomicfile.Dir // nil: there is no such directory
	Name string
}

// eachFile calls f with the files in extra, then with all files that a mailbox may have. The last
// one is the lock of the mailbox.
func (m *Mailbox) eachFile(f func(dir *atomicfile.Dir, name string) error, extra ...Entry) error {
	archives, err := m.root.Sub(Dir, false)
	if err == nil {
		defer archives.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, at := range append(extra, Entry{m.root, m.LeaseName()}, Entry{m.root, m.inboxName()}, Entry{archives, m.archive.OldName()},
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

// Changed returns the time at which a file of the mailbox was last written, or the zero time if
// there is no file.
func (m *Mailbox) Changed() (last time.Time, err error) {
	err = m.eachFile(func(dir *atomicfile.Dir, name string) error {
		info, err := dir.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || name == m.archive.OldName() { // do not count this directory, because a prune changes it, too
			return nil
		}
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return err
	})
	return last, err
}

// Discard removes an empty mailbox with its archive and lock files, and also the session's files in
// extra. If mail waits or another process holds one of the locks, it removes nothing, and the
// result gone is false. Names in extra that end in .lock are locks, too. The caller must make sure
// that the session has ended and does not come back meanwhile. If dry is set, Discard only counts
// the files.
func (m *Mailbox) Discard(dry bool, extra ...Entry) (p Pruned, gone bool, err error) {
	if some, err := m.Used(); err != nil || dry && some {
		return p, false, err
	}
	err = m.eachFile(func(dir *atomicfile.Dir, name string) error { return p.Remove(dir, name, true) }, extra...)
	if err != nil || dry {
		return p, err == nil, err
	}
	gone, err = m.discard(func() error { return nil }, false, extra...)
	return p, gone, err
}

// DiscardButArchive is Discard for a session that may come back: it keeps the archive.
func (m *Mailbox) DiscardButArchive(extra ...Entry) (gone bool, err error) {
	return m.discard(func() error { return nil }, true, extra...)
}

// MergeInto is Discard, but first adds the archive to that of another mailbox: the mailbox of the
// same session in another root. If the process is killed in between, both archives have the
// records. The next merge does not add a record twice.
func (m *Mailbox) MergeInto(ctx context.Context, other *Mailbox, extra ...Entry) (gone bool, err error) {
	return m.discard(func() error { return other.archive.Take(ctx, m.archive) }, false, extra...)
}

// discard locks the mailbox, calls the function prepare, and then removes the files. It removes
// nothing if mail waits or if prepare returns an error.
func (m *Mailbox) discard(prepare func() error, keepArchive bool, extra ...Entry) (gone bool, err error) {
	free, release, err := m.lockAll(extra...)
	defer release()
	if err != nil || !free {
		return false, err
	}
	err = m.inLease(func(dir *atomicfile.Dir) error { _, err := removeLeftovers(dir); return err })
	some, uerr := m.Used()
	if err = errors.Join(err, uerr); err == nil && !some {
		err = prepare()
	}
	if err != nil || some {
		return false, err
	}
	// If we are killed here, the next prune removes the rest.
	return true, m.eachFile(func(dir *atomicfile.Dir, name string) error {
		if keepArchive && filepath.Base(dir.Path()) == Dir && (name == m.archive.Name() || name == m.archive.OldName()) {
			return nil
		}
		return errors.Join(dir.RemoveLeftover(name), new(Pruned).Remove(dir, name, false), dir.Sync())
	}, extra...)
}

// lockAll tries to take the mailbox's locks and the locks in extra. The result free is false if one
// of them is not free. The caller must always call release, which releases the locks that lockAll
// got.
func (m *Mailbox) lockAll(extra ...Entry) (free bool, release func(), err error) {
	var locks []*atomicfile.Lock
	free = true
	err = m.eachFile(func(dir *atomicfile.Dir, name string) error {
		if !free || !strings.HasSuffix(name, ".lock") {
			return nil
		}
		lk, err := atomicfile.OpenLocked(dir, name)
		if err == nil {
			locks = append(locks, lk)
			free, err = lk.Try()
		}
		return err
	}, extra...)
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
	dir, err := root.Sub(Dir, false)
	if err != nil {
		return sids, atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	return sids, AddSessions(sids, dir, ".jsonl", ".old", ".lock")
}

// AddSessions adds the session ids of the files in a directory to sids. The name of such a file is
// an id followed by one of the suffixes.
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
