package broker

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"c2c/broker/client"
	"c2c/inbox"
)

// The answers of a session are <sid>.answered, an empty file: its time is when the session's model was last seen to answer.
// It is there when something tells of answers: mail of such a session is read when its model has answered since. Nothing of
// it is synced: after a power cut the next answer tells again.
// AnswersEnd is how its name ends.
const AnswersEnd = ".answered"

func answeredName(sid string) string { return sid + AnswersEnd }

// noAnswer is the time of a file that was made before its session has answered.
var noAnswer = time.Unix(1, 0)

// AnswerTick is how far the time of a file may be behind the clock. The hook script compares that of an archive with that of
// an answer.
const AnswerTick = 10 * time.Millisecond

// failureGap is how long the same failure is not recorded again: some clients ask their model several times a second.
const failureGap = time.Second

// maxFailure bounds why a model failed, in bytes.
const maxFailure = 200

// ExpectAnswers records that something tells of the answers of a session's model, and that what is handed over now waits for
// one. An answer that was seen just now is moved back: the time of the archive may be behind it.
func (b *Broker) ExpectAnswers(sid string) error {
	name := answeredName(sid)
	last, _, err := b.root.TimeOf(name)
	if before := b.now().Add(-AnswerTick); err == nil && last.After(before) {
		return b.root.Touch(name, before)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := b.root.Log(name, nil); err != nil { // it makes the file
		return err
	}
	return b.root.Touch(name, noAnswer)
}

// SawAnswer records that the model of a session answered at that time; zero is now. It is nothing when no answers are
// expected. The time never goes back, except from a future that a wrong clock has set. For now it takes one system call.
func (b *Broker) SawAnswer(sid string, at time.Time) error {
	now := b.now()
	if at.IsZero() || at.After(now) {
		at = now
	}
	name := answeredName(sid)
	var err error
	if at.Before(now) {
		var last time.Time
		last, _, err = b.root.TimeOf(name)
		if err == nil && !last.Before(at) && !last.After(now) {
			return nil
		}
	}
	if err == nil {
		err = b.root.Touch(name, at)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// SawFailure records why the model of a session gave no answer, in words of its client. An answer seen later makes it void.
func (b *Broker) SawFailure(ctx context.Context, sid, why string) error {
	why = inbox.Visible(strings.Join(strings.Fields(why[:min(len(why), 4*maxFailure)]), " "), "")
	if len(why) > maxFailure {
		why = why[:maxFailure]
	}
	why = strings.ToValidUTF8(why, "")
	if why == "" {
		why = "unknown"
	}
	if old, at := b.Failure(sid); old == why && b.now().Sub(at) < failureGap {
		return nil
	}
	return b.changeFacts(ctx, sid, func(f *facts) { f.Failure, f.FailedAt = why, b.now().UTC() })
}

// SawAnswerSince records that a turn which began at that time, with mail, was answered if any answer was seen since: the receipt
// of that mail may have come behind the answer.
func (b *Broker) SawAnswerSince(sid string, began time.Time) error {
	if last, told := b.LastAnswer(sid); !told || !last.After(began) {
		return nil
	}
	return b.SawAnswer(sid, time.Time{})
}

// LastAnswer is when the model of a session was last seen to answer; zero: never, or only by a clock that was wrong. told is
// false when nothing tells of its answers.
func (b *Broker) LastAnswer(sid string) (at time.Time, told bool) {
	at, _, err := b.root.TimeOf(answeredName(sid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return time.Time{}, false
	case err != nil || at.After(b.now()) || at.Equal(noAnswer):
		return time.Time{}, true
	}
	return at, true
}

// Failure says why the model of a session failed last, and when; "" if it has answered since.
func (b *Broker) Failure(sid string) (why string, at time.Time) {
	f := b.factsOf(sid)
	if f.Failure == "" || isFuture(f.FailedAt, b.now()) {
		return "", time.Time{}
	}
	if last, _ := b.LastAnswer(sid); last.After(f.FailedAt) {
		return "", time.Time{}
	}
	return f.Failure, f.FailedAt
}

// Unanswered says whether the model of a session is still to answer what that reader has handed over in full at that time.
// Where nothing tells of answers, it is not asked for one.
func (b *Broker) Unanswered(sid, by string, at time.Time) bool {
	if AfterRead(by) != Read {
		return false
	}
	last, told := b.LastAnswer(sid)
	return told && !last.After(at)
}

// lookForAnswer reads when a session's model has answered in the client's own record, where hooks do not tell of each answer.
func (b *Broker) lookForAnswer(s Session) {
	p, _ := client.Find(s.Client)
	if p.Doing == nil || s.Process == 0 {
		return
	}
	config, _ := p.Config(environment(b.proc.environ(s.Process)))
	if said := p.Doing(config, s.Process, s.ClientID()); !said.Answered.IsZero() {
		if err := b.SawAnswer(s.ID, said.Answered); err != nil {
			b.log.Warn("an answer of a session is not recorded", "session", s.ID, "err", err)
		}
	}
}

// settled says whether all mail that a session was handed counts as read, now and without its record of answers.
func (b *Broker) settled(ctx context.Context, sid string) bool {
	last, told := b.LastAnswer(sid)
	if !told {
		return true
	}
	box, err := b.Mailbox(sid)
	if err != nil {
		return false
	}
	newest, err := box.History(ctx, 1)
	return err == nil && (len(newest) == 0 || last.After(inbox.FromSeconds(newest[0].DrainedAt)))
}
