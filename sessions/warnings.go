package sessions

import (
	"context"
	"fmt"
	"strings"

	"c2c/inbox"
	"c2c/sessions/eventlog"
)

// WarningLogger makes a log for a program that answers a person or a model. It passes each warning to the function f as one sentence.
func WarningLogger(f func(sentence string)) inbox.Log { return sentences(f) }

type sentences func(string)

func (s sentences) Debug(string, ...any) {}
func (s sentences) Info(string, ...any)  {}

func (s sentences) Warn(words string, facts ...any) {
	var said []string
	for i := 0; i+1 < len(facts); i += 2 {
		said = append(said, fmt.Sprintf("%s %v", strings.ReplaceAll(fmt.Sprint(facts[i]), "_", " "), facts[i+1]))
	}
	s(words + ": " + strings.Join(said, ", "))
}

func (s sentences) Error(words string, facts ...any) { s.Warn(words, facts...) }

// mailLog is the log of the mailboxes. It also writes warnings to broker.log, because not every program shows them.
type mailLog struct {
	inbox.Log
	events *eventlog.Log
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
