package turns

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/facts"
)

// The answers of a session are <sid>.answered, an empty file: its time is when the session's model was last seen to answer.
// It is there when something tells of answers: mail of such a session is read when its model has answered since. Nothing of
// it is synced: after a power cut the next answer tells again.
// AnswersEnd is how its name ends.
const AnswersEnd = ".answered"

func AnsweredName(sid string) string { return sid + AnswersEnd }

// noAnswer is the time of a file that was made before its session has answered.
var noAnswer = time.Unix(1, 0)

// AnswerTick is subtracted from the time of an answer: the hook script compares it with the time of an archive.
const AnswerTick = atomicfile.ClockTick

// failureGap is how long the same failure is not recorded again: some clients ask their model several times a second.
const failureGap = time.Second

// maxFailure bounds why a model failed, in bytes.
const maxFailure = 200

// ExpectAnswers records that something tells of the answers of a session's model, and that what is handed over now waits for
// one. An answer that was seen just now is moved back: the time of the archive may be behind it.
func ExpectAnswers(reg *sessions.Registry, sid string) error {
	name := AnsweredName(sid)
	last, _, err := reg.Dir().TimeOf(name)
	if before := reg.Now().Add(-AnswerTick); err == nil && last.After(before) {
		return reg.Dir().Touch(name, before)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := reg.Dir().Log(name, nil); err != nil { // it makes the file
		return err
	}
	return reg.Dir().Touch(name, noAnswer)
}

// SawAnswer records that the model of a session answered at that time; zero is now. It is nothing when no answers are
// expected. The time never goes back, except from a future that a wrong clock has set. For now it takes one system call.
func SawAnswer(reg *sessions.Registry, sid string, at time.Time) error {
	now := reg.Now()
	if at.IsZero() || at.After(now) {
		at = now
	}
	name := AnsweredName(sid)
	var err error
	if at.Before(now) {
		var last time.Time
		last, _, err = reg.Dir().TimeOf(name)
		if err == nil && !last.Before(at) && !last.After(now) {
			return nil
		}
	}
	if err == nil {
		err = reg.Dir().Touch(name, at)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// SawFailure records why the model of a session gave no answer, in words of its client. An answer seen later makes it void.
func SawFailure(ctx context.Context, reg *sessions.Registry, sid, why string) error {
	why = mail.Visible(strings.Join(strings.Fields(why[:min(len(why), 4*maxFailure)]), " "), "")
	if len(why) > maxFailure {
		why = why[:maxFailure]
	}
	why = strings.ToValidUTF8(why, "")
	if why == "" {
		why = "unknown"
	}
	if old, at := Failure(reg, sid); old == why && reg.Now().Sub(at) < failureGap {
		return nil
	}
	return reg.Facts.Change(ctx, sid, func(f *facts.Facts) { f.Failure, f.FailedAt = why, reg.Now().UTC() })
}

// SawAnswerSince records that a turn which began at that time, with mail, was answered if any answer was seen since: the receipt
// of that mail may have come behind the answer.
func SawAnswerSince(reg *sessions.Registry, sid string, began time.Time) error {
	if last, told := LastAnswer(reg, sid); !told || !last.After(began) {
		return nil
	}
	return SawAnswer(reg, sid, time.Time{})
}

// LastAnswer is when the model of a session was last seen to answer; zero: never, or only by a clock that was wrong. told is
// false when nothing tells of its answers.
func LastAnswer(reg *sessions.Registry, sid string) (at time.Time, told bool) {
	at, _, err := reg.Dir().TimeOf(AnsweredName(sid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return time.Time{}, false
	case err != nil || at.After(reg.Now()) || at.Equal(noAnswer):
		return time.Time{}, true
	}
	return at, true
}

// Failure says why the model of a session failed last, and when; "" if it has answered since.
func Failure(reg *sessions.Registry, sid string) (why string, at time.Time) {
	f := reg.Facts.Of(sid)
	if f.Failure == "" || sessions.IsFuture(f.FailedAt, reg.Now()) {
		return "", time.Time{}
	}
	if last, _ := LastAnswer(reg, sid); last.After(f.FailedAt) {
		return "", time.Time{}
	}
	return f.Failure, f.FailedAt
}

// Unanswered says whether the model of a session is still to answer what that reader has handed over in full at that time.
// Where nothing tells of answers, it is not asked for one.
func Unanswered(reg *sessions.Registry, sid, by string, at time.Time) bool {
	if sessions.AfterRead(by) != sessions.Read {
		return false
	}
	last, told := LastAnswer(reg, sid)
	return told && !last.After(at)
}

// LookForAnswer reads when a session's model has answered in the client's own record, where hooks do not tell of each answer.
func LookForAnswer(reg *sessions.Registry, s sessions.Session) {
	p, _ := client.Find(s.Client)
	if p.Doing == nil || s.Process == 0 {
		return
	}
	config, _ := p.Config(sessions.Environment(reg.Processes.Environ(s.Process)))
	if said := p.Doing(config, s.Process, s.ClientID()); !said.Answered.IsZero() {
		if err := SawAnswer(reg, s.ID, said.Answered); err != nil {
			reg.Log.Warn("an answer of a session is not recorded", "session", s.ID, "err", err)
		}
	}
}

// Settled says whether all mail that a session was handed counts as read, now and without its record of answers.
func Settled(ctx context.Context, reg *sessions.Registry, sid string) bool {
	last, told := LastAnswer(reg, sid)
	if !told {
		return true
	}
	box, err := reg.Mailbox(sid)
	if err != nil {
		return false
	}
	newest, err := box.Archive().History(ctx, 1)
	return err == nil && (len(newest) == 0 || last.After(mail.FromSeconds(newest[0].DrainedAt)))
}
