// This part records when a session's model has worked, when it has answered, and which mail its
// model has not read. A message counts as read if the model has answered after c2c handed the
// message over.

package sessions

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox"
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
	if err := reg.Dir().MakeNote(name, atomicfile.TimeText(time.Time{})); !errors.Is(err, fs.ErrExist) {
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
	last, err := reg.Dir().ReadTime(AnsweredName(sid))
	if err != nil || !last.Before(at) && !last.After(now) {
		return atomicfile.UnlessAbsent(err)
	}
	return reg.Dir().WriteNote(AnsweredName(sid), atomicfile.TimeText(at))
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
	at, err := reg.Dir().ReadTime(AnsweredName(sid))
	if err != nil || at.IsZero() || IsFuture(at, reg.Now()) {
		return time.Time{}, !errors.Is(err, fs.ErrNotExist)
	}
	return Earlier(at, reg.Now()), true // the clock may have been set back a little
}

// ModelFailure returns why and when the model of a session last failed; "" if it has answered
// since.
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

// StateOf returns the state of a message that was found in the mailbox of a session, and the time
// of the model's newest answer since the hand-over: zero if there is none, or if nothing reports
// answers. The model may have answered earlier, too.
func StateOf(reg *Registry, sid string, f inbox.Found) (state string, answered time.Time) {
	switch {
	case f.Where == inbox.Waiting:
		return Queued, time.Time{}
	case f.Where == inbox.DeadLetter:
		return Dead, time.Time{}
	case f.Where == inbox.Leased || f.By == inbox.ByEvents:
		return Handed, time.Time{}
	}
	last, told := LastAnswer(reg, sid)
	switch {
	case !told:
		return Read, time.Time{}
	case !last.After(f.At):
		return Handed, time.Time{}
	}
	return Read, last
}

// Unanswered reports whether a message was handed over to a session whose model has not answered
// since, and answers of that model are reported.
func Unanswered(reg *Registry, sid string, f inbox.Found) bool {
	state, _ := StateOf(reg, sid, f)
	return state == Handed && f.Where == inbox.Archived && f.By != inbox.ByEvents
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

// States of a message, as people and programs read them. StateOf makes them from where package
// inbox has found the message. There is no state "delivered", because c2c says only what it knows.
const (
	Queued = "queued" // it waits
	Rung   = "rung"   // it waits, and c2c has rung the session
	Handed = "handed" // it was shown to the session's client, or a reader has just taken it for that
	Read   = "read"   // the session's model has answered since, or nothing reports its answers
	Dead   = "dead"   // it is a dead letter, because its session was swept
	// owed.Expired is a state, too: the message was not read in time, and is a dead letter.
)

// The note <sid>.work says when the session's client last reported work. If the client also reports
// each tool call, workTools follows the time.
const (
	WorkEnd   = ".work"
	workTools = " t"
)

func WorkName(sid string) string { return sid + WorkEnd }

// Work is what a session's client has reported about its work.
type Work struct {
	at    time.Time // zero: it has not worked
	Tools bool      // the client reports tool calls, so a turn without tool calls did no work
}

// Since reports whether the session has worked since a message was sent.
func (w Work) Since(sent time.Time) bool { return !w.at.IsZero() && !w.at.Before(sent) }

// WorkOf reads the note <sid>.work. A time in the future comes from a wrong clock, and does not
// count.
func WorkOf(reg *Registry, sid string) Work {
	text, err := reg.Dir().ReadNote(WorkName(sid))
	if err != nil {
		return Work{}
	}
	text, tools := strings.CutSuffix(text, workTools)
	at := atomicfile.ParseTime(text)
	if at.After(reg.Now()) {
		at = time.Time{}
	}
	return Work{at, tools}
}

// IsHeld reports whether the loop guard still holds a message in the mailbox of a session: its time
// has not come, and neither side has worked since it was sent.
func IsHeld(reg *Registry, sid string, m mail.Message) bool {
	if m.Held == "" || !m.KeptBack(mail.Seconds(reg.Now())) {
		return false
	}
	sent := m.Time()
	return !(mail.ValidName(m.Held) && WorkOf(reg, m.Held).Since(sent)) && !WorkOf(reg, sid).Since(sent)
}

// SawWork records that a session has worked: it called a tool other than c2c's, or a person has
// written to it.
func SawWork(reg *Registry, sid string, byTool bool) error {
	return setWork(reg, sid, Work{reg.Now(), byTool || WorkOf(reg, sid).Tools})
}

// SeesTools records that a session's client reports tool calls. The call that showed this does not
// count as work.
func SeesTools(reg *Registry, sid string) error {
	w := WorkOf(reg, sid)
	if w.Tools {
		return nil
	}
	w.Tools = true
	return setWork(reg, sid, w)
}

func setWork(reg *Registry, sid string, w Work) error {
	text := atomicfile.TimeText(w.at)
	if w.Tools {
		text += workTools
	}
	return reg.Dir().WriteNote(WorkName(sid), text)
}

// IsCalm reports whether the session has worked, and its model answered, since mail was last handed
// to it.
func IsCalm(reg *Registry, sid string) bool {
	_, err := reg.Dir().Stat(inbox.CalmName(sid))
	return err == nil
}

// EndCalm makes the session's hooks report its next work and its model's next answer.
func EndCalm(reg *Registry, sid string) error {
	return atomicfile.UnlessAbsent(reg.Dir().Remove(inbox.CalmName(sid)))
}

// MarkCalm ends the reports of a session's hooks if its client has reported all that c2c waits for.
// That includes an answer after a failure of the model.
func MarkCalm(reg *Registry, s Session) error {
	if s.Facts.Failure != "" {
		if why, _ := ModelFailure(reg, s.ID); why != "" {
			return nil
		}
	}
	box, err := reg.Mailbox(s.ID)
	if err != nil {
		return err
	}
	return box.Archive().MarkCalm(func(newest inbox.ArchiveRecord) bool {
		return WorkOf(reg, s.ID).Since(newest.Time()) && !Unanswered(reg, s.ID, newest.Found())
	})
}

// Mail that was handed over belongs to the conversation that got it, until the model answers. If
// the conversation ends before that, or its client drops the mail with a failed request, the mail
// waits again (PutBack) for whoever has the mailbox next.

// maxUnread bounds how many messages are checked.
const maxUnread = 50

// Unread returns the newest messages that were handed over to a session and that its model has not
// answered since, oldest first.
func Unread(reg *Registry, sid string) (unread []inbox.ArchiveRecord, err error) {
	last, told := LastAnswer(reg, sid)
	if !told {
		return nil, nil
	}
	box, err := reg.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	back := reg.Facts.Of(sid).PutBack
	seen := map[mail.Key]bool{}
	err = box.Archive().Recent(func(r inbox.ArchiveRecord) (more bool) {
		if r.DrainedAt <= back || last.After(mail.FromSeconds(r.DrainedAt)) {
			return false
		}
		key := mail.Key{Session: r.FromSession, From: r.From, ID: r.ID}
		if r.DrainedBy != inbox.ByEvents && !r.ContentDropped && !seen[key] {
			unread = append(unread, r)
		}
		seen[key] = true // a message that was put back has several records, and the newest counts
		return len(seen) < maxUnread
	})
	slices.Reverse(unread)
	return unread, err
}

// PutBack makes unread messages of a session wait again: those that match; nil: all, for good. It
// returns how many matched.
func PutBack(ctx context.Context, reg *Registry, sid string, match func(inbox.ArchiveRecord) bool) (matched int, err error) {
	unread, err := Unread(reg, sid)
	if err != nil {
		return 0, err
	}
	all := match == nil
	unread = slices.DeleteFunc(unread, func(r inbox.ArchiveRecord) bool { return !all && !match(r) })
	if len(unread) == 0 {
		return 0, nil
	}
	box, err := reg.Mailbox(sid)
	if err == nil {
		err = box.PutBack(ctx, unread)
	}
	if err == nil && all { // from here they may move to another session
		err = reg.Facts.Change(ctx, sid, func(f *Facts) { f.PutBack = unread[len(unread)-1].DrainedAt })
	}
	return len(unread), err
}
