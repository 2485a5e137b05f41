// This part has the lock files of a root. They show other processes whether a process rings a
// session (wakes its client when mail comes), and whether a process serves it (runs its MCP server
// or plugin).

package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"c2c/internal/atomicfile"
)

// Locks takes and tests the lock files of an open root. It does not close the root.
type Locks struct {
	root *atomicfile.Dir
	seen map[string]bool // cache of the result of Glance; nil: each call tests the lock
}

// Glance returns locks that test each lock only once.
func (l *Locks) Glance() *Locks { return &Locks{l.root, map[string]bool{}} }

// With runs work while it holds a lock file of the root.
func (l *Locks) With(ctx context.Context, name string, work func() error) error {
	return atomicfile.WithLock(ctx, l.root, name, work)
}

// Watchable makes a lock file of the root if it is missing, and returns its path for a file
// watcher.
func (l *Locks) Watchable(name string) (path string, err error) {
	f, err := l.root.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return "", err
	}
	return filepath.Join(l.root.Path(), name), f.Close()
}

// RingLock is the file whose lock is the right to ring a session. One process at a time has this
// right, until it releases the lock or ends.
func RingLock(sid string) string { return sid + ".wake.lock" }

// ServerLock is the file on which all MCP servers of a session hold a shared lock. While it is
// locked the session is alive, even if the process that started the server has ended.
func ServerLock(sid string) string { return sid + ".server.lock" }

// Serve marks this process as serving a session, until release is called. release is nil if Serve
// did not get the lock.
func (l *Locks) Serve(sid string) (release func() error, err error) {
	lock, err := atomicfile.OpenLocked(l.root, ServerLock(sid))
	if err != nil {
		return nil, err
	}
	if ok, err := lock.Share(); err != nil || !ok { // prune holds the lock for a moment
		return nil, errors.Join(err, lock.Release())
	}
	return lock.Release, nil
}

// Ringing opens the lock for the right to ring a session, but does not take it.
func (l *Locks) Ringing(sid string) (*atomicfile.Lock, error) {
	return atomicfile.OpenLocked(l.root, RingLock(sid))
}

// BorrowRinging takes the right to ring a session, if it is free.
func (l *Locks) BorrowRinging(sid string) (release func() error, ok bool, err error) {
	return TryLock(l.Ringing(sid))
}

func TryLock(lock *atomicfile.Lock, err error) (release func() error, ok bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	if ok, err = lock.Try(); err != nil || !ok {
		return nil, false, errors.Join(err, lock.Release())
	}
	return lock.Release, true, nil
}

// WakeLock is held by the daemon while it rings sessions of the root.
const WakeLock = "wake.lock"

// HasRinger reports whether a process has the right to ring the session. Usually this is the
// session's server, a child of its client.
func (l *Locks) HasRinger(sid string) bool { return l.Held(RingLock(sid)) }

// HasServer reports whether an MCP server or a plugin process of ours serves the session.
func (l *Locks) HasServer(sid string) bool { return l.Held(ServerLock(sid)) }

// Held reports whether a process holds a lock now.
func (l *Locks) Held(name string) bool {
	held, known := l.seen[name]
	if !known {
		held, _ = l.root.IsHeld(name) // a lock that cannot be tested counts as free
		if l.seen != nil {
			l.seen[name] = held
		}
	}
	return held
}
