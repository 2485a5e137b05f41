package moves

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

const (
	// moveWait is how long a move waits for a mailbox that another process has locked. Mail that is
	// left moves later.
	moveWait = 200 * time.Millisecond
	// moveBytes bounds how much one commit moves. A commit makes one file, and even a hook that
	// shows little of it has to read the whole file.
	moveBytes = 1 << 20
	// MaxMoves bounds how often a message follows its alias, if the alias goes to another session
	// while the message is sent.
	MaxMoves = 3
)

// Finish moves the mail of other sessions to the session own. The argument from has the ids of the
// other sessions. Mail that cannot move now stays recorded in the facts (MoveFrom). Finish only
// logs errors, because an error would stop the hook or the tool call that begins with it.
func Finish(ctx context.Context, reg *sessions.Registry, from []string, own sessions.Row) {
	if len(from) == 0 {
		return
	}
	from = slices.DeleteFunc(slices.Clone(from), func(sid string) bool { return sid == own.SID() })
	// A session whose client lives registers again a moment after it was taken over, under another
	// alias. Its mail comes with the alias all the same.
	took := reg.Facts.Of(own.SID()).TookOver
	var stuck []string
	for i := 0; i < len(from); i++ {
		sid := from[i]
		if f, err := reg.Facts.Read(sid); err == nil { // mail that should move to sid must now move to own
			from = sessions.AddMissing(from, slices.DeleteFunc(f.MoveFrom, func(s string) bool { return s == sid || s == own.SID() })...)
		}
		gone, err := isGone(reg, sid)
		if gone || sid == took {
			err = MoveMail(ctx, reg, sid, own.SID())
		}
		if err != nil {
			reg.Log.Warn("mail was not moved yet", "to", own.SID(), "from", sid, "err", err)
			stuck = append(stuck, sid)
		}
	}
	done, err := Redeliver(ctx, reg, own, from) // a sweep may have turned mail of these sessions into dead letters
	if err != nil {
		reg.Log.Warn("dead letters were not moved yet", "to", own.SID(), "err", err)
	}
	err = reg.Facts.Change(ctx, own.SID(), func(f *sessions.Facts) {
		f.MoveFrom = sessions.AddMissing(f.MoveFrom, from...)
		if done {
			f.MoveFrom = slices.DeleteFunc(f.MoveFrom, func(sid string) bool {
				return !slices.Contains(stuck, sid) && !hasMore(reg, sid)
			})
		} else {
			f.MoveFrom = sessions.AddMissing(f.MoveFrom, own.SID())
		}
	})
	if err != nil {
		reg.Log.Warn("the record of mail to move was not changed", "to", own.SID(), "err", err)
	}
}

// FinishLeft puts back the mail that a session's former conversation was handed and has not read
// (facts.Facts.Left). It only logs errors, for the reason that Finish has.
func FinishLeft(ctx context.Context, reg *sessions.Registry, s sessions.Session) {
	if s.Facts.Left == "" {
		return
	}
	left := s
	left.ClientIDs = []string{s.Facts.Left}
	sessions.LookForAnswer(reg, left)
	_, err := sessions.PutBack(ctx, reg, s.ID, nil)
	if err == nil {
		err = reg.Facts.Change(ctx, s.ID, func(f *sessions.Facts) { f.Left = "" })
	}
	if err != nil {
		reg.Log.Warn("mail of the conversation before was not put back yet", "session", s.ID, "err", err)
	}
}

// isGone reports whether a session is no longer registered. A session that has come back keeps its
// mail, unless it was taken over, see Finish.
func isGone(reg *sessions.Registry, sid string) (bool, error) {
	rows, err := reg.ReadRegistry() // not Rows, which may lock the registry
	return err == nil && sessions.FindSID(rows, sid) < 0 && mail.ValidName(sid), err
}

// hasMore reports whether a mailbox has more mail to move, leased mail included. A sender that read
// the registry before the move may deliver after it. Then the sender records in the facts that this
// mail must move, too. The caller of hasMore holds the lock of the facts: a sender that has not
// recorded yet does so after the caller's change, and any other sender's mail is found here.
func hasMore(reg *sessions.Registry, sid string) bool {
	if gone, err := isGone(reg, sid); err == nil && !gone {
		return false
	}
	box, err := reg.Mailbox(sid)
	if err != nil {
		return true
	}
	some, err := box.Used()
	return err != nil || some
}

// Forward moves mail that was delivered to the mailbox of sid while the alias of sid went to
// another session. The new holder of the alias may have emptied this mailbox already, and would not
// look into it again. Forward only logs errors, because the message is stored.
func Forward(ctx context.Context, reg *sessions.Registry, sid, alias string) {
	for range MaxMoves {
		rows, err := reg.Rows(ctx)
		if err == nil && sessions.FindSID(rows, sid) >= 0 {
			return
		}
		holder := ""
		if err == nil {
			holder, err = RecordMove(ctx, reg, sid, alias)
		}
		if err == nil && holder == "" {
			return // the session was swept: the message waits for its return or for the next sweep
		}
		if err == nil {
			err = MoveMail(ctx, reg, sid, holder)
		}
		if err != nil {
			reg.Log.Warn("a message was not moved to the new session of its alias yet", "alias", alias, "in", sid, "err", err)
			return
		}
		sid = holder
	}
}

// RecordMove records that the holder of an alias must fetch the mail of the mailbox of sid. The
// result holder is "" if no session has the alias, or if the session sid has it again. RecordMove
// holds the registry's lock. So the next holder of the alias finds the record, and fetches that
// mail, too.
func RecordMove(ctx context.Context, reg *sessions.Registry, sid, alias string) (holder string, err error) {
	err = reg.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
		r := reg.Receiver(rows, alias)
		if r == nil || r.SID() == sid {
			return rows, nil
		}
		holder = r.SID()
		return rows, reg.Facts.Change(ctx, holder, func(f *sessions.Facts) { f.MoveFrom = sessions.AddMissing(f.MoveFrom, sid) })
	})
	return holder, err
}

// MoveMail moves the waiting mail of one session to another, and what it was handed and has not
// read, with the obligations to answer it. A message that the new mailbox can never take becomes a
// dead letter, and its sender gets a notice.
func MoveMail(ctx context.Context, reg *sessions.Registry, from, to string) error {
	if from == to { // Transfer would find each message there already, and then remove it
		return nil
	}
	f := reg.Facts.Of(from)
	sessions.LookForAnswer(reg, sessions.Session{Facts: f, ID: from, Client: f.Client})
	if _, err := sessions.PutBack(ctx, reg, from, nil); err != nil {
		return err
	}
	told := owed.Quota{}
	return Transfer(ctx, reg, from, reg, to, func(moved []mail.Message, refused []owed.DeadLetter) {
		if rows, err := reg.ReadRegistry(); err == nil { // not Rows, which may lock the registry
			owed.TellDead(ctx, reg, rows, told, refused...)
		}
		moveOwed(ctx, reg, from, to, moved, refused)
	})
}

// Transfer moves the waiting mail of a session into the mailbox of another session, or of the same
// session in another root. Messages keep their ids. So after a kill the next Transfer delivers them
// again, and the mailbox finds that it has them already. A message that the mailbox can never take
// becomes a dead letter of toRoot. After each lease, Transfer calls moved with the messages that
// are done, perhaps none; refused lists those of them that became dead letters.
func Transfer(ctx context.Context, fromRoot *sessions.Registry, from string, toRoot *sessions.Registry, to string, moved func(messages []mail.Message, refused []owed.DeadLetter)) error {
	box, err := toRoot.Mailbox(to)
	if err != nil {
		return err
	}
	return EmptyMailbox(ctx, fromRoot, from, func(messages []mail.Message) (int, error) {
		refused, n, err := deliverSome(ctx, box, messages)
		if err != nil {
			err = fmt.Errorf("move mail of session %q: %w", from, err)
		}
		if derr := owed.AddDead(ctx, toRoot, from, refused...); derr != nil {
			return 0, errors.Join(err, derr)
		}
		moved(messages[:n], refused)
		return n, err
	})
}

// moveOwed records that the new session owes the answers to the moved messages, and the old one
// does not. A refused message needs no answer.
func moveOwed(ctx context.Context, reg *sessions.Registry, from, to string, moved []mail.Message, refused []owed.DeadLetter) {
	var dead []mail.Message
	for _, d := range refused {
		dead = append(dead, d.Message)
	}
	owed.CloseMessages(ctx, reg, from, sessions.Dead, dead)
	moved = without(moved, refused)
	owed.AddMoved(ctx, reg, to, moved)
	owed.CloseMessages(ctx, reg, from, owed.HandedOver, moved)
}

// without returns the messages that were not refused.
func without(msgs []mail.Message, refused []owed.DeadLetter) []mail.Message {
	dead := map[owed.Key]bool{}
	for _, d := range refused {
		dead[owed.KeyOf(d.Message)] = true
	}
	return slices.DeleteFunc(slices.Clone(msgs), func(m mail.Message) bool { return dead[owed.KeyOf(m)] })
}

// deliverSome delivers as many of the messages as it can, in order and in few commits. The result n
// counts the messages that are done. The result refused has those of them that the mailbox can
// never take. The error says why the mailbox cannot take the next message now.
func deliverSome(ctx context.Context, box *inbox.Mailbox, messages []mail.Message) (refused []owed.DeadLetter, n int, err error) {
	half, size := len(messages)/2, 0
	for _, m := range messages {
		size += len(m.Content)
	}
	if half == 0 || size <= moveBytes {
		_, err = box.Move(ctx, messages...)
		never := errors.Is(err, mail.ErrBody) || errors.Is(err, mail.ErrTooLarge)
		switch {
		case err == nil:
			return nil, len(messages), nil
		case half == 0 && never:
			return []owed.DeadLetter{{Reason: err.Error(), Message: messages[0]}}, 1, nil
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

// EmptyMailbox calls put with the waiting mail of a mailbox. put stores the first n messages
// elsewhere and returns n. EmptyMailbox then removes these n messages from the mailbox.
func EmptyMailbox(ctx context.Context, reg *sessions.Registry, sid string, put func([]mail.Message) (n int, err error)) error {
	box, err := reg.Mailbox(sid)
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

func emptySome(ctx context.Context, box *inbox.Mailbox, put func([]mail.Message) (n int, err error)) (more bool, err error) {
	brief, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	lease, err := box.LeaseAll(brief, inbox.ByMover, moveBytes)
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

// Redeliver delivers to the session own the dead letters that it inherits (see inherits). The mail
// of the sessions whose ids are in from moves to own. The result done is true if no such letter is
// left. Redeliver does not hold the lock of the dead letters while it delivers them: no lock is
// held while waiting for one of a mailbox. The ids make a second delivery harmless. A dead letter
// that can never be delivered stays, with the reason.
func Redeliver(ctx context.Context, reg *sessions.Registry, own sessions.Row, from []string) (done bool, err error) {
	may := mayInherit(reg, own, from)
	lines, err := owed.ReadDeadLines(reg)
	if err != nil {
		// If the file is not ours, it stays so until a person repairs it. A new try at each call of
		// the session would not help.
		return errors.Is(err, atomicfile.ErrNotOurs) || errors.Is(err, atomicfile.ErrTooLarge) || errors.Is(err, fs.ErrPermission), err
	}
	mine := map[string][]string{} // the lines of each message: a killed sweep may have written a line twice
	var messages []mail.Message
	for _, line := range lines {
		if !may(line) {
			continue
		}
		d, ok := owed.ParseDead(line)
		if !ok || d.Reason != "" || !inherits(reg, own, from, d) {
			continue
		}
		key := owed.MessageKey(d.Message)
		if mine[key] == nil {
			messages = append(messages, d.Message)
		}
		mine[key] = append(mine[key], string(line))
	}
	if len(messages) == 0 {
		return true, nil
	}
	box, err := reg.Mailbox(own.SID())
	if err != nil {
		return false, err
	}
	refused, n, err := deliverSome(ctx, box, messages)
	if err != nil {
		err = fmt.Errorf("redeliver %d dead letters: %w", len(messages)-n, err)
	}
	owed.AddMoved(ctx, reg, own.SID(), without(messages[:n], refused))
	here := false
	derr := owed.RemoveDead(ctx, reg, own.SID(), func() (gone map[string]string, err error) {
		gone, here, err = Delivered(ctx, box, mine, without(messages[:n], refused))
		for _, d := range refused {
			gone[mine[owed.MessageKey(d.Message)][0]] = d.Reason
		}
		return gone, err
	})
	return here && n == len(messages), errors.Join(err, derr)
}

// Delivered returns those lines of the map mine whose messages the session has in its mailbox or
// has read. The result all is true if no message is missing. The dead letter of a missing message
// must stay: a sweep may have leased or removed the message, and it added no second dead letter
// because it saw this one.
func Delivered(ctx context.Context, box *inbox.Mailbox, mine map[string][]string, messages []mail.Message) (gone map[string]string, all bool, err error) {
	gone, all = map[string]string{}, true
	if len(messages) == 0 {
		return gone, all, nil
	}
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	brief, cancel := context.WithTimeout(ctx, moveWait) // the caller holds the lock of the dead letters
	defer cancel()
	found, err := box.FindAll(brief, ids...)
	if err != nil {
		return gone, false, err
	}
	for _, m := range messages {
		if !slices.ContainsFunc(found, func(f inbox.Found) bool {
			inMove := f.Where == inbox.Leased && f.By == inbox.ByMover
			return !inMove && f.Message.ID == m.ID && f.Message.From == m.From && f.Message.Content == m.Content
		}) {
			all = false
			continue
		}
		for _, line := range mine[owed.MessageKey(m)] {
			gone[line] = ""
		}
	}
	return gone, all, nil
}

// mayInherit returns a quick test whether a line may be a dead letter for a session. Among
// thousands of lines hardly any passes the test, and a hook would need seconds to parse them all.
func mayInherit(reg *sessions.Registry, own sessions.Row, from []string) (may func(line []byte) bool) {
	names := append([]string{own.SID()}, from...)
	if f := reg.Facts.Of(own.SID()); f.Named && !f.Proposed {
		names = append(names, own.Alias())
	}
	var finders []*mail.Finder
	for _, name := range names {
		finders = append(finders, mail.AnyCaseFinder(sessions.Fold(name)))
	}
	return func(line []byte) bool {
		hasName := func(f *mail.Finder) bool { return f.In(line) }
		return bytes.Contains(line, []byte(`\u`)) || slices.ContainsFunc(finders, hasName) // a name may have an escaped letter
	}
}

// inherits reports whether a session gets a dead letter. It gets its own letters, and those of the
// sessions whose ids are in from. It also gets letters to an alias that it has chosen itself, but
// not if the alias comes from a project's file. It does not get these letters if their session may
// come back: c2c knows a client id of that session, or does not know its process.
func inherits(reg *sessions.Registry, own sessions.Row, from []string, d owed.DeadLetter) bool {
	if d.SessionID == own.SID() || slices.Contains(from, d.SessionID) {
		return true
	}
	if facts := reg.Facts.Of(own.SID()); sessions.Fold(d.Message.To) != sessions.Fold(own.Alias()) || !facts.Named || facts.Proposed {
		return false
	}
	f, err := reg.Facts.Read(d.SessionID)
	mayReturn := err != nil || f.OnDisk() && (len(f.ClientIDs) > 0 || f.PID == 0)
	return !mayReturn || !mail.ValidName(d.SessionID)
}
