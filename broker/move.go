package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"c2c/inbox"
)

const (
	// mover is the reader's name while messages leave a mailbox unread.
	mover = "broker"
	// moveWait is how long a move waits for a mailbox that another process has locked. The rest comes later.
	moveWait = 200 * time.Millisecond
	// moveBytes is how much is moved in one commit, which makes one file: a hook that shows little reads it whole.
	moveBytes = 1 << 20
	// maxMoves bounds how often a message follows an alias that changes hands while it is sent.
	maxMoves = 3
)

// finishMoves moves the mail of some sessions to another one. What cannot move now stays in the facts: that
// is logged and no error, because every hook and every tool call of the session begins here.
func (b *Broker) finishMoves(ctx context.Context, from []string, own row) {
	if len(from) == 0 {
		return
	}
	from = slices.DeleteFunc(slices.Clone(from), func(sid string) bool { return sid == own.sid() })
	var done []string
	for i := 0; i < len(from); i++ {
		sid := from[i]
		if f, err := b.readFacts(sid); err == nil { // what was to come to it is to come here
			from = addMissing(from, slices.DeleteFunc(f.MoveFrom, func(s string) bool { return s == sid || s == own.sid() })...)
		}
		ok, err := b.finishMove(ctx, sid, own)
		if ok {
			done = append(done, sid)
		}
		if err != nil {
			b.log.Warn("mail is still to come", "to", own.sid(), "from", sid, "err", err)
		}
	}
	ok, err := b.redeliver(ctx, own, from) // a sweep may have made dead letters of what was to be moved
	if ok {
		done = append(done, own.sid())
	} else {
		done, from = nil, append(from, own.sid())
	}
	if err != nil {
		b.log.Warn("dead letters are still to come", "to", own.sid(), "err", err)
	}
	err = b.changeFacts(ctx, own.sid(), func(f *facts) {
		f.MoveFrom = slices.DeleteFunc(addMissing(f.MoveFrom, from...), func(sid string) bool {
			return slices.Contains(done, sid) && !b.hasMore(ctx, sid)
		})
	})
	if err != nil {
		b.log.Warn("what was moved is not recorded", "to", own.sid(), "err", err)
	}
}

// hasMore says whether mail has come since a move out of a mailbox: from a sender that had read the registry
// before. It asks under the lock of the facts in which the sender, too, records that there is mail to move.
func (b *Broker) hasMore(ctx context.Context, sid string) bool {
	rows, err := b.readRegistry() // not rows, which may lock the registry
	if err == nil && findSID(rows, sid) >= 0 || !inbox.ValidName(sid) {
		return false
	}
	box, err := b.Mailbox(sid)
	if err != nil {
		return true
	}
	brief, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	empty, err := box.Empty(brief)
	return err != nil || !empty
}

// finishMove moves what one session left; done says that nothing is left to move.
func (b *Broker) finishMove(ctx context.Context, sid string, own row) (done bool, err error) {
	rows, err := b.rows(ctx)
	if err != nil || findSID(rows, sid) >= 0 || !inbox.ValidName(sid) {
		return err == nil, err // it is back, and keeps its mail; or it never could have any
	}
	return b.moveMail(ctx, sid, own.sid())
}

// addMissing puts sessions that are not there yet into a list.
func addMissing(sids []string, more ...string) []string {
	for _, sid := range more {
		if !slices.Contains(sids, sid) {
			sids = append(sids, sid)
		}
	}
	return sids
}

// forward moves on what was delivered to a mailbox whose alias has gone to another session meanwhile: the new
// holder may have emptied that mailbox already, and would not look there again. It returns whose mailbox the
// message is in. An error is only logged: the message is stored.
func (b *Broker) forward(ctx context.Context, sid, alias string) string {
	for range maxMoves {
		rows, err := b.rows(ctx)
		if err == nil && findSID(rows, sid) >= 0 {
			return sid
		}
		holder := ""
		if err == nil {
			holder, err = b.recordMove(ctx, sid, alias)
		}
		if err == nil && holder == "" {
			return sid // swept: the message waits for the session or for the next sweep
		}
		if err == nil {
			_, err = b.moveMail(ctx, sid, holder)
		}
		if err != nil {
			b.log.Warn("a message does not follow its alias yet", "alias", alias, "in", sid, "err", err)
			return sid
		}
		sid = holder
	}
	return sid
}

// recordMove tells who has an alias now that mail is to come from a mailbox; "" when nobody has it. It holds the
// registry's lock: whoever takes the alias next finds the record and brings that mail, too.
func (b *Broker) recordMove(ctx context.Context, sid, alias string) (holder string, err error) {
	err = b.change(ctx, func(rows []row) ([]row, error) {
		r := b.receiver(rows, alias)
		if r == nil {
			return rows, nil
		}
		holder = r.sid()
		return rows, b.changeFacts(ctx, holder, func(f *facts) { f.MoveFrom = addMissing(f.MoveFrom, sid) })
	})
	return holder, err
}

// moveMail moves what waits in one mailbox to another; empty says that nothing is left, in a reader's hands
// either. The ids stay, so whoever is killed in between makes nothing double: a mailbox takes an id once.
// What the other can never take becomes a dead letter.
func (b *Broker) moveMail(ctx context.Context, from, to string) (empty bool, err error) {
	box, err := b.Mailbox(to)
	if err != nil {
		return false, err
	}
	return b.takeOut(ctx, from, func(messages []inbox.Message) ([]inbox.Message, error) {
		refused, left, err := deliverSome(ctx, box, messages)
		if err != nil {
			err = fmt.Errorf("move mail of session %q: %w", from, err)
		}
		if berr := b.addDead(ctx, from, refused...); berr != nil {
			return messages, errors.Join(err, berr)
		}
		return left, err
	})
}

// deliverSome delivers as many messages as go, in order and in few commits. refused are those that the mailbox
// can never take, left those from the first on that it cannot take now; err says why.
func deliverSome(ctx context.Context, box *inbox.Mailbox, messages []inbox.Message) (refused []DeadLetter, left []inbox.Message, err error) {
	n, size := len(messages), 0
	for _, m := range messages {
		size += len(m.Content)
	}
	if n == 1 || size <= moveBytes {
		_, err = box.Move(ctx, messages...)
		never := errors.Is(err, inbox.ErrBody) || errors.Is(err, inbox.ErrTooLarge)
		switch {
		case err == nil:
			return nil, nil, nil
		case n == 1 && never:
			return []DeadLetter{{Reason: err.Error(), Message: messages[0]}}, nil, nil
		case n == 1 || !never && !errors.Is(err, inbox.ErrFull):
			return nil, messages, err
		}
	}
	refused, left, err = deliverSome(ctx, box, messages[:n/2])
	if err != nil {
		return refused, append(left, messages[n/2:]...), err
	}
	more, left, err := deliverSome(ctx, box, messages[n/2:])
	return append(refused, more...), left, err
}

// takeOut gives what waits in a mailbox to put, and removes there what put has put elsewhere: all but what
// it returns. empty says that nothing is left, in a reader's hands either.
func (b *Broker) takeOut(ctx context.Context, sid string, put func([]inbox.Message) (left []inbox.Message, err error)) (empty bool, err error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return false, err
	}
	for more := true; more && err == nil; {
		more, err = takeOutSome(ctx, box, put)
	}
	if err != nil {
		return false, fmt.Errorf("empty mailbox of session %q: %w", sid, err)
	}
	brief, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	return box.Empty(brief)
}

func takeOutSome(ctx context.Context, box *inbox.Mailbox, put func([]inbox.Message) (left []inbox.Message, err error)) (more bool, err error) {
	brief, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	lease, err := box.LeaseSome(brief, mover, moveBytes)
	if err != nil {
		return false, err
	}
	var left []inbox.Message
	if len(lease.Messages) > 0 {
		left, err = put(slices.Clone(lease.Messages))
	}
	stays := map[string]bool{}
	for _, m := range left {
		stays[m.Handle()] = true
	}
	var gone []string
	for _, m := range lease.Messages {
		if !stays[m.Handle()] {
			gone = append(gone, m.Handle())
		}
	}
	again, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	return lease.More && len(left) == 0 && err == nil, errors.Join(err, lease.Remove(again, gone...))
}

// redeliver gives a session its dead letters, and those of the sessions whose mail moves to it; done says that
// none is left to deliver. The lock is not held while they are delivered (the original takes it after an
// inbox's); the ids make a second delivery harmless. One that can never be delivered stays where it is, with
// the reason.
func (b *Broker) redeliver(ctx context.Context, own row, from []string) (done bool, err error) {
	lines, err := b.deadLines()
	if err != nil {
		// A broken file stays so until somebody repairs it, and each call of the session would try in vain.
		var no syscall.Errno
		return !errors.As(err, &no) || !no.Temporary(), err
	}
	mine := map[string][]string{} // lines by message: a sweep that was killed may have written one twice
	var messages []inbox.Message
	for _, line := range lines {
		d, ok := parseDead(line)
		if !ok || d.Reason != "" || !b.inherits(own, from, d) {
			continue
		}
		key := messageKey(d.Message)
		if mine[key] == nil {
			messages = append(messages, d.Message)
		}
		mine[key] = append(mine[key], string(line))
	}
	if len(messages) == 0 {
		return true, nil
	}
	box, err := b.Mailbox(own.sid())
	if err != nil {
		return false, err
	}
	refused, left, err := deliverSome(ctx, box, messages)
	if err != nil {
		err = fmt.Errorf("redeliver %d dead letters: %w", len(left), err)
	}
	for _, m := range left {
		delete(mine, messageKey(m))
	}
	return len(left) == 0, errors.Join(err, b.dropDead(ctx, own.sid(), mine, refused))
}

// inherits says whether a dead letter comes to a session. Another one's comes, as in the original, if the session
// has chosen the alias it was sent to, unless its own session may come back: one that was known by more than
// its process.
func (b *Broker) inherits(own row, from []string, d DeadLetter) bool {
	if d.SessionID == own.sid() || slices.Contains(from, d.SessionID) {
		return true
	}
	if fold(d.Message.To) != fold(own.alias()) || !b.factsOf(own.sid()).Named {
		return false
	}
	f, err := b.readFacts(d.SessionID)
	mayReturn := err != nil || f.known && (len(f.ClientIDs) > 0 || f.PID == 0)
	return !mayReturn || !inbox.ValidName(d.SessionID)
}
