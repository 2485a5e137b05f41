package sessions

import (
	"errors"

	"c2c/inbox/filelock"
)

// RingLock is the file whose lock is the right to ring a session. One process has it at a time, and loses it when it
// ends.
func RingLock(sid string) string { return sid + ".wake.lock" }

// ServerLock is the file that the MCP servers of a session hold together. Who holds it shows that the session
// is alive, whatever became of the process that started the server.
func ServerLock(sid string) string { return sid + ".server.lock" }

// Serve says that this process serves a session, until release is called.
func (reg *Registry) Serve(sid string) (release func() error, err error) {
	lock, err := filelock.Open(reg.root, ServerLock(sid))
	if err != nil {
		return nil, err
	}
	if ok, err := lock.Share(); err != nil || !ok { // prune has it for a moment
		return nil, errors.Join(err, lock.Release())
	}
	return lock.Release, nil
}

// Ringing opens the right to ring a session, and does not take it.
func (reg *Registry) Ringing(sid string) (*filelock.Lock, error) {
	return filelock.Open(reg.root, RingLock(sid))
}

// BorrowRinging takes the right to ring a session, if no other process has it.
func (reg *Registry) BorrowRinging(sid string) (release func() error, ok bool, err error) {
	return TryLock(reg.Ringing(sid))
}

func TryLock(lock *filelock.Lock, err error) (release func() error, ok bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	if ok, err = lock.Try(); err != nil || !ok {
		return nil, false, errors.Join(err, lock.Release())
	}
	return lock.Release, true, nil
}

// WakeLock is the lock of the wake daemon, see wake/daemon.
const WakeLock = "wake.lock"

// ByHook names a client's hook as a reader and as a method.
const ByHook = "hook"
