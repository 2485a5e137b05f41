package inbox

import (
	"context"
	"errors"
	"syscall"
	"time"

	"c2c/internal/atomicfile"
)

// The type row reads the files of a mailbox, which are a row (see the package comment). It knows
// their names, locks and formats.
type row struct {
	root    *atomicfile.Dir
	sid     string
	now     func() time.Time
	log     Log
	archive *Archive
}

func (r *row) inboxName() string { return r.sid + ".inbox.json" }

// LeaseName returns the name of the directory in the root that has the numbered files. When a
// reader ends, it closes its files there, and a watch on the directory reports this.
func (r *row) LeaseName() string { return r.sid + ".lease" }

// LockName returns the name of the lock file. When a process closes this file, a watcher knows that
// something in the mailbox has changed.
func (r *row) LockName() string { return r.sid + ".inbox.lock" }

func (r *row) lock(ctx context.Context) (*atomicfile.Lock, error) {
	return atomicfile.Acquire(ctx, r.root, r.LockName())
}

// lockToRead is lock for a caller that only reads. On a read-only file system it takes no lock,
// because nothing can change.
func (r *row) lockToRead(ctx context.Context) (*atomicfile.Lock, error) {
	lk, err := r.lock(ctx)
	if errors.Is(err, syscall.EROFS) {
		return &atomicfile.Lock{}, nil
	}
	return lk, err
}

// asideName makes a new name for a damaged file, and logs it.
func (r *row) asideName() string {
	name := r.inboxName() + ".corrupt-" + r.now().UTC().Format("20060102T150405.000000")
	r.log.Warn("damaged file set aside", "session", r.sid, "copy", name)
	return name
}

// setAside gives a damaged file a second name, for a person to look at. The caller then replaces
// the file under its first name.
func (r *row) setAside(dir *atomicfile.Dir, name string) error {
	if err := dir.Link(name, r.root, r.asideName()); err != nil {
		return err
	}
	return r.root.Sync()
}

// inLease runs f with the lease directory if there is one.
func (r *row) inLease(f func(*atomicfile.Dir) error) error {
	dir, err := r.root.Sub(r.LeaseName(), false)
	if err != nil {
		return atomicfile.UnlessAbsent(err)
	}
	defer dir.Close()
	return f(dir)
}

// notify changes the time of the lock file, so that the watchers of this file see that mail waits,
// or waits again. Claude Code watches the file for a session that has lost its MCP server
// (FileChanged). It notices a new time of the file, but not that the file is closed. It cannot
// watch another file of the mailbox, because only the lock file keeps its name. After a watched
// file was renamed, Claude Code 2.1.329 either loses the file, or searches the whole root at each
// change there (10 ms of its time in a root of 300 sessions).
func (r *row) notify() {
	if err := r.root.Touch(r.LockName(), r.now()); err != nil {
		r.log.Warn("the lock file's time could not be changed", "session", r.sid, "err", err)
	}
}
