package owed

import (
	"time"

	"c2c/inbox/mail"
)

// Within which time a message that asks is to be answered, unless it says that itself.
const (
	blockingTime = 10 * time.Minute
	urgentTime   = 30 * time.Minute
	normalTime   = 4 * time.Hour
)

// NotAsked, as Due of a message, says that nobody owes an answer to it, whatever its kind: it is sent to many.
const NotAsked = -1

// DueOf is when an answer to a message is due that is sent now; 0: none is.
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
