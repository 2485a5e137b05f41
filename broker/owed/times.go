package owed

import (
	"context"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Asked has the deadline of a message that asks for an answer. For any other message it is zero.
type Asked struct {
	Due    time.Time `json:"due,omitzero"`
	Bucket string    `json:"bucket,omitempty"`          // blocking, urgent or normal
	Action bool      `json:"action_required,omitempty"` // SPEC-091 section 5.3
	Reply  bool      `json:"reply_required,omitempty"`
}

func AskedOf(m mail.Message) Asked {
	if !m.Owes() {
		return Asked{}
	}
	return Asked{mail.FromSeconds(m.Due).UTC(), m.Bucket(), true, true}
}

// These are the times that a session has for its answer to a message that asks, unless the message
// sets its own time.
const (
	blockingTime = 10 * time.Minute
	urgentTime   = 30 * time.Minute
	normalTime   = 4 * time.Hour
)

// NotAsked is a value for mail.Message.Due. It means that no session owes an answer, whatever kind
// the message has. It is for messages that are sent to many.
const NotAsked = -1

// DueOf returns when the answer to a message is due if the message is sent now; 0: no answer is
// due.
func DueOf(m mail.Message, now time.Time) float64 {
	switch {
	case m.Due == NotAsked || !m.Asks():
		return 0
	case m.AnswerBy > 0:
		return m.AnswerBy
	}
	within := normalTime
	switch m.Bucket() {
	case mail.Blocking:
		within = blockingTime
	case mail.Urgent:
		within = urgentTime
	}
	return mail.Seconds(now.Add(within))
}

// Deliver puts messages into the mailbox of the session sid by means of put, such as the method
// Deliver of the mailbox, and calls LookInTime for them.
func Deliver(ctx context.Context, reg *sessions.Registry, sid string, put func(context.Context, ...mail.Message) (inbox.Stored, error), msgs ...mail.Message) (inbox.Stored, error) {
	LookInTime(reg, sid, msgs...)
	stored, err := put(ctx, msgs...)
	if err == nil {
		LookInTime(reg, sid, stored.Messages...)
	}
	return stored, err
}

// LookInTime makes sure that some process looks in time at the deadlines of messages to the session
// sid. Call it before the messages are stored, because the sender may be killed right after the
// write. Call it again after the write, because a process may have looked between the first call and
// the write. It costs nothing if all deadlines are sessions.LookEvery or more after the send. Mail in
// an outbox for another project is due at once: a look carries it.
func LookInTime(reg *sessions.Registry, sid string, msgs ...mail.Message) {
	now := reg.Now()
	var first time.Time
	if _, is := sessions.ProjectOf(sid); is {
		first = now
	}
	for _, m := range msgs {
		for _, at := range [...]float64{m.ExpiresAt, m.AnswerBy, m.Due} {
			if at > 0 {
				first = sessions.Earlier(first, mail.FromSeconds(at))
			}
		}
		if m.TellAfter > 0 {
			first = sessions.Earlier(first, now.Add(TellAfterOf(m)))
		}
	}
	if !first.IsZero() && first.Before(now.Add(sessions.LookEvery-time.Second)) { // a second less: the send was a moment ago
		reg.Due.LookBy(first)
	}
}

const (
	// TellAfter is how long a message may wait before its sender gets a notice, unless the sender
	// sets a time.
	TellAfter = 30 * time.Minute
	// tellQuiet and tellAbsent replace TellAfter if the receipt has already told the sender why the
	// message may wait: tellQuiet if the receiver does not want to be disturbed, tellAbsent if it
	// was absent, or is on another machine and owes no answer.
	tellQuiet  = 4 * time.Hour
	tellAbsent = 24 * time.Hour
)

// wantsNotice reports whether the sender of m wants a notice if nobody reads m. If the sender sets
// no time, it gets no notice about an ephemeral message, or about one of a kind that only informs.
func wantsNotice(m mail.Message) bool {
	switch {
	case m.From == sessions.SystemAlias || m.TellAfter < 0:
		return false
	case m.TellAfter > 0:
		return true
	}
	return m.Kind != "ack" && m.Kind != "status" && m.Kind != mail.KindSystem && !m.Ephemeral
}

// TellAfterOf returns how long a message may wait before its sender gets a notice.
func TellAfterOf(m mail.Message) time.Duration {
	if m.TellAfter <= 0 {
		return TellAfter
	}
	return time.Duration(min(m.TellAfter, (1000*24*time.Hour).Seconds()) * float64(time.Second))
}

// UnreadAfter returns how long the message m to the receiver s may wait before the sender gets a
// notice. If s is on another machine, the receipt has said whether that machine was there, so a
// message that asks for no answer may wait long.
func UnreadAfter(s sessions.Session, m mail.Message) time.Duration {
	switch {
	case m.TellAfter > 0:
	case s.State == sessions.Absent && m.ToAbsent, s.State == sessions.Remote && !m.Owes():
		return tellAbsent
	case s.Quiet:
		return tellQuiet
	}
	return TellAfterOf(m)
}

func unreadWhy(s sessions.Session) string {
	switch {
	case s.State == sessions.Absent:
		return " " + s.Alias + " is absent."
	case s.Quiet:
		return " " + s.Alias + " does not want to be disturbed."
	}
	return ""
}
