package broker

import (
	"context"
	"errors"

	"c2c/inbox/filelock"
)

// ringLock is the file whose lock is the right to ring a session: one process has it at a time, and its end
// gives it up.
func ringLock(sid string) string { return sid + ".wake.lock" }

// ClaimRinging waits for the right to ring a session, until ctx ends.
func (b *Broker) ClaimRinging(ctx context.Context, sid string) (release func() error, err error) {
	lock, err := filelock.Acquire(ctx, b.root, ringLock(sid))
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

// BorrowRinging takes the right to ring a session if nobody has it.
func (b *Broker) BorrowRinging(sid string) (release func() error, ok bool, err error) {
	lock, err := filelock.Open(b.root, ringLock(sid))
	if err != nil {
		return nil, false, err
	}
	if ok, err = lock.Try(); err != nil || !ok {
		return nil, false, errors.Join(err, lock.Release())
	}
	return lock.Release, true, nil
}
