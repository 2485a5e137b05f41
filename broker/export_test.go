package broker

import (
	"context"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// What package broker_test needs to force a kill or a race between two steps of a send or a
// question.

// Deliver is the second half of a send, to a receiver that was looked up before.
func (b *Broker) Deliver(ctx context.Context, from sessions.Session, to sessions.Row, m mail.Message) (Receipt, error) {
	return b.deliver(ctx, from, to, "", m)
}

// File is the locked file of the wait. Closing it is what a kill does: the lock goes, and the file
// stays.
func (q *Question) File() *atomicfile.Handle { return q.wait.File }

// Stamp is the state of the mailbox at which the question has looked last.
func (q *Question) Stamp() inbox.Stamp { return q.stamp }

// GiveUp releases the lease of the answer, as the end of a process does.
func (a *Answer) GiveUp() error { return a.lease.Release() }
