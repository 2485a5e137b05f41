package sessions

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// AnswersEnd is the end of the name of the note <sid>.answered. It says when c2c last saw the
// session's model answer. If there is a note, mail counts as read when the model has answered after
// the mail was handed over. ExpectAnswers makes the note, if some hook or plugin reports answers.
const AnswersEnd = ".answered"

func AnsweredName(sid string) string { return sid + AnswersEnd }

// Within failureGap the same failure is recorded only once, because some clients ask their model
// several times a second.
const failureGap = time.Second

// maxFailure bounds the recorded reason of a failure, in bytes.
const maxFailure = 200

// ExpectAnswers records that a hook or plugin reports the answers of a session's model, and that
// the mail handed over from now on waits for an answer.
func ExpectAnswers(reg *Registry, sid string) error {
	name := AnsweredName(sid)
	if _, err := reg.Dir().ReadNote(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := reg.Dir().MakeNote(name, timeText(time.Time{})); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// SawAnswer records that the model of a session answered at the given time; the zero time means
// now. It does nothing if no answers are expected. The recorded time never goes back, unless a
// wrong clock has set it to the future.
func SawAnswer(reg *Registry, sid string, at time.Time) error {
	now := reg.Now()
	if at.IsZero() || at.After(now) {
		at = now
	}
	last, err := readTime(reg.Dir(), AnsweredName(sid))
	if err != nil || !last.Before(at) && !last.After(now) {
		return atomicfile.UnlessAbsent(err)
	}
	return reg.Dir().WriteNote(AnsweredName(sid), timeText(at))
}

// SawFailure records why the model of a session gave no answer, in the client's words. After a
// later answer, Failure no longer returns it.
func SawFailure(ctx context.Context, reg *Registry, sid, why string) error {
	why = mail.Visible(strings.Join(strings.Fields(why[:min(len(why), 4*maxFailure)]), " "), "")
	if len(why) > maxFailure {
		why = why[:maxFailure]
	}
	why = strings.ToValidUTF8(why, "")
	if why == "" {
		why = "unknown"
	}
	if old, at := ModelFailure(reg, sid); old == why && reg.Now().Sub(at) < failureGap {
		return nil
	}
	err := reg.Facts.Change(ctx, sid, func(f *Facts) { f.Failure, f.FailedAt = why, reg.Now().UTC() })
	return errors.Join(err, EndCalm(reg, sid))
}

// SawAnswerSince is for a turn that began with mail, at the time start. The model may have answered
// before c2c recorded the mail as handed over. So if an answer was seen after start, SawAnswerSince
// sets the time of the last answer to now.
func SawAnswerSince(reg *Registry, sid string, start time.Time) error {
	if last, told := LastAnswer(reg, sid); !told || !last.After(start) {
		return nil
	}
	return SawAnswer(reg, sid, time.Time{})
}

// LastAnswer returns when c2c last saw the model of a session answer; zero: never, or the recorded
// time is wrong. told is false if nothing reports its answers.
func LastAnswer(reg *Registry, sid string) (at time.Time, told bool) {
	at, err := readTime(reg.Dir(), AnsweredName(sid))
	if err != nil || at.IsZero() || IsFuture(at, reg.Now()) {
		return time.Time{}, !errors.Is(err, fs.ErrNotExist)
	}
	return Earlier(at, reg.Now()), true // the clock may have been set back a little
}

// Failure returns why and when the model of a session last failed; "" if it has answered since.
func ModelFailure(reg *Registry, sid string) (why string, at time.Time) {
	f := reg.Facts.Of(sid)
	if f.Failure == "" || IsFuture(f.FailedAt, reg.Now()) {
		return "", time.Time{}
	}
	if last, _ := LastAnswer(reg, sid); last.After(f.FailedAt) {
		return "", time.Time{}
	}
	return f.Failure, f.FailedAt
}

// Unanswered reports whether mail still waits for an answer of the model. The given reader has
// handed the mail over, at the time handed. The result is false if nothing reports answers.
func Unanswered(reg *Registry, sid, reader string, handed time.Time) bool {
	_, waits := AnswerTo(reg, sid, reader, handed)
	return waits
}

// AnswerTo returns the time of the model's newest answer after the hand-over of some mail. The
// model may have answered earlier, too: only the newest answer is recorded. The time is zero if
// there is no such answer, or if the mail counts as read without one. The result waits is as in
// Unanswered.
func AnswerTo(reg *Registry, sid, reader string, handed time.Time) (at time.Time, waits bool) {
	if AfterRead(reader) != Read {
		return time.Time{}, false
	}
	last, told := LastAnswer(reg, sid)
	if !told || !last.After(handed) {
		return time.Time{}, told
	}
	return last, false
}

// LookForAnswer finds the model's last answer in the client's own record, for clients whose hooks
// do not report each answer.
func LookForAnswer(reg *Registry, s Session) {
	p, _ := client.Find(s.Client)
	if p.Doing == nil || s.Process == 0 && reg.Getenv == nil {
		return
	}
	env := reg.Getenv
	if s.Process != 0 {
		env = EnvironmentOf(reg.Processes.Environ(s.Process))
	}
	config, _ := p.Config(env)
	if said := p.Doing(config, s.Process, s.ClientID()); !said.Answered.IsZero() {
		if err := SawAnswer(reg, s.ID, said.Answered); err != nil {
			reg.Log.Warn("an answer of a session is not recorded", "session", s.ID, "err", err)
		}
	}
}

// Settled reports whether all mail that was handed to a session counts as read. If so, the
// session's note of answers can be removed: without the note, the mail counts as read, too.
func Settled(ctx context.Context, reg *Registry, sid string) bool {
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
