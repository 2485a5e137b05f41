package sessions

import (
	"context"

	"c2c/inbox"
)

// WarningLogger makes a log for a program that answers a person or a model. It passes each warning
// to the function f as one sentence.
func WarningLogger(f func(sentence string)) inbox.Log { return Sentences(f) }

// mailLog is the log of the mailboxes. It also writes warnings to broker.log, because not every
// program shows them.
type mailLog struct {
	inbox.Log
	events *EventLog
}

func (l mailLog) Warn(words string, facts ...any) {
	l.Log.Warn(words, facts...)
	l.record(words, facts)
}

func (l mailLog) Error(words string, facts ...any) {
	l.Log.Error(words, facts...)
	l.record(words, facts)
}

func (l mailLog) record(words string, facts []any) {
	l.events.Record(context.Background(), "mailbox", append([]any{"warning", words}, facts...)...)
}
