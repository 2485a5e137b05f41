package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"c2c/inbox"
)

// maxMoves bounds how often a message follows an alias that changes hands while it is sent.
const maxMoves = 3

// settle brings a session the mail that is still to come to it. A session that is back has its own again.
func (b *Broker) settle(ctx context.Context, owed []string, own row) error {
	if len(owed) == 0 {
		return nil
	}
	rows, err := b.rows(ctx)
	if err != nil {
		return err
	}
	for _, sid := range owed {
		if findSID(rows, sid) >= 0 {
			continue
		}
		if err := b.moveMail(ctx, sid, own.sid()); err != nil {
			return err
		}
	}
	if err := b.redeliver(ctx, own.sid(), own.alias()); err != nil {
		return err
	}
	return b.changeFacts(ctx, own.sid(), func(f *facts) {
		f.Owed = slices.DeleteFunc(f.Owed, func(sid string) bool { return slices.Contains(owed, sid) })
	})
}

// follow moves on what was delivered to a mailbox whose alias has gone to another session meanwhile: the
// takeover has emptied that mailbox already, and nobody would look there again.
func (b *Broker) follow(ctx context.Context, sid, alias string) (string, error) {
	for range maxMoves {
		rows, err := b.rows(ctx)
		if err != nil {
			return sid, err
		}
		if findSID(rows, sid) >= 0 {
			return sid, nil
		}
		next := b.receiver(rows, alias)
		if next == nil {
			return sid, nil // swept: the message waits for the session or for the next sweep
		}
		if err := b.moveMail(ctx, sid, next.sid()); err != nil {
			return sid, err
		}
		sid = next.sid()
	}
	return sid, nil
}

// mover is the reader's name while messages leave a mailbox unread.
const mover = "broker"

// moveMail moves what waits in one mailbox to another. The ids stay, so that a crash in between makes
// nothing double: the other mailbox takes an id once.
func (b *Broker) moveMail(ctx context.Context, from, to string) (err error) {
	return b.empty(ctx, from, func(messages []inbox.Message) error {
		box, err := b.Mailbox(to)
		if err != nil {
			return err
		}
		if _, err := box.Deliver(ctx, messages...); err != nil {
			return fmt.Errorf("move mail of session %q: %w", from, err)
		}
		return nil
	})
}

// empty takes what waits out of a mailbox once f has put it elsewhere.
func (b *Broker) empty(ctx context.Context, sid string, f func([]inbox.Message) error) (err error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return err
	}
	lease, err := box.Lease(ctx, mover)
	if err != nil {
		return fmt.Errorf("empty mailbox of session %q: %w", sid, err)
	}
	if len(lease.Messages) == 0 {
		return lease.Release()
	}
	if err := f(slices.Clone(lease.Messages)); err != nil {
		return errors.Join(err, lease.Release())
	}
	// Nobody has read them here: an archive that knew their ids would refuse them when they come back.
	for i := range lease.Messages {
		lease.Messages[i].Ephemeral = true
	}
	return lease.Ack(ctx)
}

// redeliver gives a session the dead letters of its mailbox or its alias. The lock is not held while they are
// delivered (the original takes it after an inbox's); the ids make a second delivery harmless.
func (b *Broker) redeliver(ctx context.Context, sid, alias string) error {
	lines, err := b.deadLines()
	if err != nil {
		return err
	}
	mine := map[string]bool{}
	seen := map[string]bool{} // a sweep that was killed may have buried a message twice
	var messages []inbox.Message
	for _, line := range lines {
		d, ok := parseDead(line)
		if ok && (d.SessionID == sid || fold(d.Message.To) == fold(alias)) {
			mine[string(line)] = true
			if !seen[d.Message.ID] {
				messages = append(messages, d.Message)
			}
			seen[d.Message.ID] = true
		}
	}
	if len(messages) == 0 {
		return nil
	}
	box, err := b.Mailbox(sid)
	if err != nil {
		return err
	}
	if _, err := box.Deliver(ctx, messages...); err != nil {
		return fmt.Errorf("redeliver %d dead letters: %w", len(messages), err)
	}
	return b.exhume(ctx, mine)
}

// exhume takes lines out of the file.
func (b *Broker) exhume(ctx context.Context, gone map[string]bool) error {
	return b.locked(ctx, deadLock, func() error {
		lines, err := b.deadLines()
		if err != nil {
			return err
		}
		var kept []byte
		for _, line := range lines {
			if !gone[string(line)] {
				kept = append(kept, line...)
			}
		}
		return b.root.Replace(deadFile, kept)
	})
}
