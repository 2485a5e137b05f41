package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// ErrNoAnswer says that no answer came before the time limit.
var ErrNoAnswer = errors.New("no answer yet")

// Question is a message whose sender waits for the answer. Only one goroutine may use it.
type Question struct {
	Receipt

	b     *Broker
	box   *inbox.Mailbox
	wait  *sessions.Asking
	asked string // the id of the asked session; "" if no session had the alias
	since inbox.Mark
	stamp inbox.Stamp
}

// Ask sends a question. Its answer comes from Question.Look. Until the limit is over or this
// process ends, hooks and ringers of the session leave the answer alone. Ask returns the errors of
// Send, and *CircleError.
func (b *Broker) Ask(ctx context.Context, from sessions.Session, m mail.Message, limit time.Duration) (*Question, error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return nil, err
	}
	q := &Question{b: b} // q.asked stays "" if nobody has the alias; Send then fails
	if q.box, err = b.Mailbox(from.ID); err != nil {
		return nil, err
	}
	if q.since, err = q.box.Archive().Mark(ctx); err != nil {
		return nil, err
	}
	if to, err := b.addressee(rows, m.To); err == nil && to != nil {
		q.asked = to.SID()
	}
	if q.wait, err = sessions.StartWait(ctx, b.Registry, rows, sessions.Wait{Asks: from.ID, Asked: q.asked, Alias: m.To}); err != nil {
		return nil, err
	}
	if q.Receipt, err = b.Send(ctx, from, m); err == nil {
		if err = q.wait.Begins(q.ID, b.Now().Add(limit)); err != nil {
			err = fmt.Errorf("message %s was sent, and its answer will come as mail: %w", mail.ShortID(q.ID), err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, q.wait.End())
	}
	return q, nil
}

// Changed returns the path of a file to watch. Call Look when a process has closed the file after a
// write.
func (q *Question) Changed() (path string, err error) { return q.b.Locks.Watchable(q.box.LockName()) }

// Answer is the answer to a question, leased to the session that asked.
type Answer struct {
	mail.Message
	lease *inbox.Lease
}

// TakenError says that another reader of the session has taken the answer.
type TakenError struct{ ID, By string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("the answer %s was handed over to this session by %s", mail.ShortID(e.ID), e.By)
}

// Look leases the answer and returns it. It returns nil if no answer has come. While the mailbox
// has not changed, a call costs little. If another reader has taken the answer, the error is a
// *TakenError.
func (q *Question) Look(ctx context.Context) (*Answer, error) {
	stamp, err := q.box.Stamp()
	if err != nil || stamp == q.stamp {
		return nil, err
	}
	found, err := q.find(ctx)
	if err != nil || len(found) == 0 {
		q.stamp = stamp
		return nil, err
	}
	if found[0].Where == inbox.Archived {
		return nil, &TakenError{found[0].Message.ID, found[0].By}
	}
	l, err := q.box.LeaseOnly(ctx, inbox.ByAsk, q.isAnswer)
	if err != nil {
		return nil, err
	}
	if len(l.Messages) == 0 { // another reader has leased the answer; the stamp changes when that lease ends
		q.stamp = stamp
		return nil, l.Release()
	}
	return &Answer{l.Messages[0], l}, nil
}

// Became returns the state of a question without an answer, and the same in words: with the reason
// why it is not read, and with the word poll if the asked session has written since. A model may
// answer in a message that names no question. After an error the state is "".
func (q *Question) Became(ctx context.Context, poll string) (state, text string) {
	var all []string
	if st, err := q.b.Status(ctx, q.ID); err == nil {
		state, all = st.State, []string{"the question is " + st.State, st.Why, st.Do}
	}
	if q.hasWritten(ctx) {
		all = append(all, q.To+" has written to you since: "+poll)
	}
	return state, strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// hasWritten reports whether the asked session has written to the asker since the question.
func (q *Question) hasWritten(ctx context.Context) bool {
	rows, err := q.b.ReadRegistry()
	if err != nil {
		return false
	}
	authors := q.b.Authors(rows)
	found, err := q.box.Search(ctx, inbox.Query{Limit: 1, Since: q.since, Match: func(m mail.Message) bool {
		return m.TS >= q.TS && authors.Wrote(q.asked, m) && (!sessions.IsHostID(q.asked) || sessions.Fold(m.From) == sessions.Fold(q.To))
	}})
	return err == nil && len(found) > 0
}

func (q *Question) find(ctx context.Context) ([]inbox.Found, error) {
	return q.box.Search(ctx, inbox.Query{
		Holds: sessions.Holds(q.ID), Match: q.isAnswer, Limit: 1, Since: q.since,
	})
}

// isAnswer reports whether m ends the wait.
func (q *Question) isAnswer(m mail.Message) bool {
	if m.InReplyTo != q.ID {
		return false
	}
	rows, err := q.b.ReadRegistry()
	return err == nil && q.b.Authors(rows).IsReply(q.asked, q.To, m)
}

// Ack ends the lease of the answer. If err is nil, the answer was handed over, and Ack confirms
// that. Otherwise the answer waits again, as ordinary mail.
func (a *Answer) Ack(ctx context.Context, err error) error {
	if err != nil {
		return a.lease.Release()
	}
	return a.lease.Ack(ctx, a.Handle())
}

// Close ends the wait. An answer that waits already, or that comes later, is then ordinary mail.
func (q *Question) Close(ctx context.Context) error {
	err := q.wait.End()
	found, ferr := q.find(ctx)
	if ferr == nil && len(found) > 0 && found[0].Where == inbox.Waiting {
		ferr = q.box.NotifyWatchers(ctx) // ringers have ignored the answer until now, so wake them
	}
	return errors.Join(err, ferr)
}
