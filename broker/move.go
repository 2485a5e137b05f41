package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/finder"
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
	var stuck []string
	for i := 0; i < len(from); i++ {
		sid := from[i]
		if f, err := b.readFacts(sid); err == nil { // mail that was to move there is to move here
			from = addMissing(from, slices.DeleteFunc(f.MoveFrom, func(s string) bool { return s == sid || s == own.sid() })...)
		}
		gone, err := b.isGone(sid)
		if gone {
			err = b.moveMail(ctx, sid, own.sid())
		}
		if err != nil {
			b.log.Warn("mail is still to come", "to", own.sid(), "from", sid, "err", err)
			stuck = append(stuck, sid)
		}
	}
	done, err := b.redeliver(ctx, own, from) // a sweep may have made dead letters of what was to be moved
	if err != nil {
		b.log.Warn("dead letters are still to come", "to", own.sid(), "err", err)
	}
	err = b.changeFacts(ctx, own.sid(), func(f *facts) {
		f.MoveFrom = addMissing(f.MoveFrom, from...)
		if done {
			f.MoveFrom = slices.DeleteFunc(f.MoveFrom, func(sid string) bool {
				return !slices.Contains(stuck, sid) && !b.hasMore(ctx, sid)
			})
		} else {
			f.MoveFrom = addMissing(f.MoveFrom, own.sid())
		}
	})
	if err != nil {
		b.log.Warn("what was moved is not recorded", "to", own.sid(), "err", err)
	}
}

// isGone says whether a session is not registered, and may have mail. One that is back keeps its mail.
func (b *Broker) isGone(sid string) (bool, error) {
	rows, err := b.readRegistry() // not rows, which may lock the registry
	return err == nil && findSID(rows, sid) < 0 && inbox.ValidName(sid), err
}

// hasMore says whether a mailbox has mail to move, or a reader has some of it. That mail may have come after the
// move, from a sender that had read the registry before. The caller holds the lock of the facts, in which the
// sender records it.
func (b *Broker) hasMore(ctx context.Context, sid string) bool {
	if gone, err := b.isGone(sid); err == nil && !gone {
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
// holder may have emptied that mailbox already, and would not look there again. An error is only logged: the
// message is stored.
func (b *Broker) forward(ctx context.Context, sid, alias string) {
	for range maxMoves {
		rows, err := b.rows(ctx)
		if err == nil && findSID(rows, sid) >= 0 {
			return
		}
		holder := ""
		if err == nil {
			holder, err = b.recordMove(ctx, sid, alias)
		}
		if err == nil && holder == "" {
			return // swept: the message waits for the session or for the next sweep
		}
		if err == nil {
			err = b.moveMail(ctx, sid, holder)
		}
		if err != nil {
			b.log.Warn("a message does not follow its alias yet", "alias", alias, "in", sid, "err", err)
			return
		}
		sid = holder
	}
}

// recordMove tells who has an alias now that mail is to come from a mailbox; "" when nobody has it, or the session of the
// mailbox itself, which is back. It holds the registry's lock: whoever takes the alias next finds the record and brings that
// mail, too.
func (b *Broker) recordMove(ctx context.Context, sid, alias string) (holder string, err error) {
	err = b.change(ctx, func(rows []row) ([]row, error) {
		r := b.receiver(rows, alias)
		if r == nil || r.sid() == sid {
			return rows, nil
		}
		holder = r.sid()
		return rows, b.changeFacts(ctx, holder, func(f *facts) { f.MoveFrom = addMissing(f.MoveFrom, sid) })
	})
	return holder, err
}

// moveMail moves what waits in one mailbox to another. The ids stay: if the mover is killed, the next one delivers
// again, and the mailbox has those messages already. What it can never take becomes a dead letter.
func (b *Broker) moveMail(ctx context.Context, from, to string) error {
	if from == to { // each message would be there already, and then be removed
		return nil
	}
	box, err := b.Mailbox(to)
	if err != nil {
		return err
	}
	told := quota{}
	return b.emptyMailbox(ctx, from, func(messages []inbox.Message) (int, error) {
		refused, n, err := deliverSome(ctx, box, messages)
		if err != nil {
			err = fmt.Errorf("move mail of session %q: %w", from, err)
		}
		if derr := b.addDead(ctx, from, refused...); derr != nil {
			return 0, errors.Join(err, derr)
		}
		if rows, rerr := b.readRegistry(); rerr == nil { // not rows, which may lock the registry
			b.tellDead(ctx, rows, told, refused...)
		}
		b.moveOwed(ctx, from, to, messages[:n], refused)
		return n, err
	})
}

// moveOwed has a session owe the answers to messages that were moved to it. What was refused nobody answers.
func (b *Broker) moveOwed(ctx context.Context, from, to string, moved []inbox.Message, refused []DeadLetter) {
	var dead []inbox.Message
	for _, d := range refused {
		dead = append(dead, d.Message)
	}
	b.closeMessages(ctx, from, Dead, dead)
	moved = without(moved, refused)
	b.oweMoved(ctx, to, moved)
	b.closeMessages(ctx, from, HandedOver, moved)
}

// without gives those messages that were not refused.
func without(msgs []inbox.Message, refused []DeadLetter) []inbox.Message {
	dead := map[debtKey]bool{}
	for _, d := range refused {
		dead[keyOf(d.Message)] = true
	}
	return slices.DeleteFunc(slices.Clone(msgs), func(m inbox.Message) bool { return dead[keyOf(m)] })
}

// deliverSome delivers as many messages as go, in order and in few commits: the first n. refused are those of
// them that the mailbox can never take; err says why it cannot take the next one now.
func deliverSome(ctx context.Context, box *inbox.Mailbox, messages []inbox.Message) (refused []DeadLetter, n int, err error) {
	half, size := len(messages)/2, 0
	for _, m := range messages {
		size += len(m.Content)
	}
	if half == 0 || size <= moveBytes {
		_, err = box.Move(ctx, messages...)
		never := errors.Is(err, inbox.ErrBody) || errors.Is(err, inbox.ErrTooLarge)
		switch {
		case err == nil:
			return nil, len(messages), nil
		case half == 0 && never:
			return []DeadLetter{{Reason: err.Error(), Message: messages[0]}}, 1, nil
		case half == 0 || !never && !errors.Is(err, inbox.ErrFull):
			return nil, 0, err
		}
	}
	refused, n, err = deliverSome(ctx, box, messages[:half])
	if err != nil {
		return refused, n, err
	}
	more, rest, err := deliverSome(ctx, box, messages[half:])
	return append(refused, more...), n + rest, err
}

// emptyMailbox gives what waits in a mailbox to put, which stores the first n messages elsewhere. Those are removed.
func (b *Broker) emptyMailbox(ctx context.Context, sid string, put func([]inbox.Message) (n int, err error)) error {
	box, err := b.Mailbox(sid)
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		more, err = emptySome(ctx, box, put)
	}
	if err != nil {
		return fmt.Errorf("empty mailbox of session %q: %w", sid, err)
	}
	return nil
}

func emptySome(ctx context.Context, box *inbox.Mailbox, put func([]inbox.Message) (n int, err error)) (more bool, err error) {
	brief, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	lease, err := box.LeaseAll(brief, mover, moveBytes)
	if err != nil {
		return false, err
	}
	n := 0
	if len(lease.Messages) > 0 {
		n, err = put(slices.Clone(lease.Messages))
	}
	again, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	return lease.More && err == nil, errors.Join(err, lease.Remove(again, inbox.Handles(lease.Messages[:n])...))
}

// redeliver gives a session its dead letters, and those of the sessions whose mail moves to it; done says that
// none is left to deliver. The lock is not held while they are delivered (the original takes it after an
// inbox's); the ids make a second delivery harmless. One that can never be delivered stays where it is, with
// the reason.
func (b *Broker) redeliver(ctx context.Context, own row, from []string) (done bool, err error) {
	may, longest := b.mayInherit(own, from)
	if !b.anyDead(may, longest) {
		return true, nil
	}
	lines, err := b.deadLines()
	if err != nil {
		// What is no file of ours stays so until somebody repairs it: each call of the session would look in vain.
		return errors.Is(err, atomicfile.ErrNotOurs) || errors.Is(err, atomicfile.ErrTooLarge) || errors.Is(err, fs.ErrPermission), err
	}
	mine := map[string][]string{} // lines by message: a sweep that was killed may have written one twice
	var messages []inbox.Message
	for _, line := range lines {
		if !may(line) {
			continue
		}
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
	refused, n, err := deliverSome(ctx, box, messages)
	if err != nil {
		err = fmt.Errorf("redeliver %d dead letters: %w", len(messages)-n, err)
	}
	gone := map[string]string{}
	b.oweMoved(ctx, own.sid(), without(messages[:n], refused))
	for _, m := range messages[:n] {
		for _, line := range mine[messageKey(m)] {
			gone[line] = ""
		}
	}
	for _, d := range refused {
		gone[mine[messageKey(d.Message)][0]] = d.Reason
	}
	return n == len(messages), errors.Join(err, b.dropDead(ctx, own.sid(), gone))
}

// mayInherit gives a function that says whether there may be a dead letter in some lines that a session gets, and how long the
// names are that it looks for. Nearly all of many thousands are not, and to parse them all takes a hook seconds.
func (b *Broker) mayInherit(own row, from []string) (may func(lines []byte) bool, longest int) {
	names := append([]string{own.sid()}, from...)
	if f := b.factsOf(own.sid()); f.Named && !f.Proposed {
		names = append(names, own.alias())
	}
	var finders []*finder.Finder
	for _, name := range names {
		finders, longest = append(finders, finder.AnyCase(fold(name))), max(longest, len(name))
	}
	return func(lines []byte) bool {
		is := func(f *finder.Finder) bool { return f.In(lines) }
		return bytes.Contains(lines, []byte(`\u`)) || slices.ContainsFunc(finders, is) // such a letter may spell one of the names
	}, longest
}

// anyDead says whether there may be something in the dead letters, of which no name is longer than overlap. A hook of nearly every
// session that comes back finds nothing there. When it cannot tell, reading them all will say why.
func (b *Broker) anyDead(may func([]byte) bool, overlap int) (found bool) {
	err := b.eachDeadPiece(overlap, func(piece []byte) (more bool) {
		found = may(piece)
		return !found
	})
	return found || err != nil
}

// inherits says whether a session gets a dead letter. It gets its own. As in the original, it also gets those that
// were sent to the alias that it has chosen (a project's file chooses nothing), unless the other session may come back: one that was known by more
// than its process.
func (b *Broker) inherits(own row, from []string, d DeadLetter) bool {
	if d.SessionID == own.sid() || slices.Contains(from, d.SessionID) {
		return true
	}
	if facts := b.factsOf(own.sid()); fold(d.Message.To) != fold(own.alias()) || !facts.Named || facts.Proposed {
		return false
	}
	f, err := b.readFacts(d.SessionID)
	mayReturn := err != nil || f.stored && (len(f.ClientIDs) > 0 || f.PID == 0)
	return !mayReturn || !inbox.ValidName(d.SessionID)
}
