package owed

import (
	"time"

	"c2c/inbox/mail"
)

// These are the times that a session has for its answer to a message that asks, unless the message sets its own time.
const (
	blockingTime = 10 * time.Minute
	urgentTime   = 30 * time.Minute
	normalTime   = 4 * time.Hour
)

// NotAsked is a value for mail.Message.Due. It means that no session owes an answer, whatever kind the message has. It is for messages that
// are sent to many.
const NotAsked = -1

// DueOf returns when the answer to a message is due if the message is sent now; 0: no answer is due.
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
