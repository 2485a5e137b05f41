package broker

import (
	"errors"

	"c2c/inbox/filelock"
)

// ringLock is the file whose lock is the right to ring a session. One process has it at a time, and loses it when it
// ends.
func ringLock(sid string) string { return sid + ".wake.lock" }

// serverLock is the file that the MCP servers of a session hold together. Who holds it shows that the session
// is alive, whatever became of the process that started the server.
func serverLock(sid string) string { return sid + ".server.lock" }

// Serve says that this process serves a session, until release is called.
func (b *Broker) Serve(sid string) (release func() error, err error) {
	lock, err := filelock.Open(b.root, serverLock(sid))
	if err != nil {
		return nil, err
	}
	if ok, err := lock.Share(); err != nil || !ok { // prune has it for a moment
		return nil, errors.Join(err, lock.Release())
	}
	return lock.Release, nil
}

// Ringing opens the right to ring a session, and does not take it.
func (b *Broker) Ringing(sid string) (*filelock.Lock, error) {
	return filelock.Open(b.root, ringLock(sid))
}

// BorrowRinging takes the right to ring a session, if no other process has it.
func (b *Broker) BorrowRinging(sid string) (release func() error, ok bool, err error) {
	return try(b.Ringing(sid))
}

// Keeping opens the right to act on what messages are owed, and does not take it.
func (b *Broker) Keeping() (*filelock.Lock, error) { return filelock.Open(b.root, KeeperLock) }

// tryKeeping takes that right, if no other process has it.
func (b *Broker) tryKeeping() (release func() error, ok bool, err error) { return try(b.Keeping()) }

func try(lock *filelock.Lock, err error) (release func() error, ok bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	if ok, err = lock.Try(); err != nil || !ok {
		return nil, false, errors.Join(err, lock.Release())
	}
	return lock.Release, true, nil
}
