package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"c2c/inbox"
)

// sentences is a log that passes each warning to a function, as one sentence.
type sentences func(string)

func (s sentences) Debug(string, ...any) {}
func (s sentences) Info(string, ...any)  {}

func (s sentences) Warn(words string, facts ...any) {
	var said []string
	if isFull(facts) {
		s(words + ": the disk is full; free some space")
		return
	}
	for i := 0; i+1 < len(facts); i += 2 {
		said = append(said, fmt.Sprintf("%s %v", strings.ReplaceAll(fmt.Sprint(facts[i]), "_", " "), facts[i+1]))
	}
	s(words + ": " + strings.Join(said, ", "))
}

// isFull reports whether the facts of a warning have the error that the disk, or the user's part of
// it, is full.
func isFull(facts []any) bool {
	return slices.ContainsFunc(facts, func(fact any) bool {
		err, _ := fact.(error)
		return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	})
}

func (s sentences) Error(words string, facts ...any) { s.Warn(words, facts...) }

// WarningLogger makes a log for a program that answers a person or a model. It passes each warning
// to the function f as one sentence.
func WarningLogger(f func(sentence string)) inbox.Log { return sentences(f) }

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
