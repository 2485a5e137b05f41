package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/fields"
)

const (
	logFile = "broker.log"
	logLock = "broker.log.lock"
	logMax  = 10 << 20 // bytes
	logKeep = 5        // number of older files; broker.log.1 is the newest of them

	EventSent = "dm_enqueue" // the event of a stored message; see docs/compatibility.md for the names
)

// Log is broker.log of an open root. It does not close the root.
type EventLog struct {
	root *atomicfile.Dir
	now  func() time.Time
	log  inbox.Log
}

// Open returns the log of a root. If a line cannot be written, log gets a warning.
func OpenEventLog(root *atomicfile.Dir, now func() time.Time, log inbox.Log) *EventLog {
	return &EventLog{root, now, log}
}

// Write appends a line to broker.log, which people and the tool tail_log read. The arguments facts
// are a name, its value, the next name, and so on; a value is a text or a boolean. Never log the
// body of a message, or a token.
func (l *EventLog) Write(_ context.Context, event string, facts ...any) error {
	line := fields.AppendSeconds([]byte(`{"ts":`), mail.Seconds(l.now()))
	line = fields.AppendText(append(line, `,"event":`...), event)
	for i := 0; i+1 < len(facts); i += 2 {
		line = append(fields.AppendText(append(line, ','), fmt.Sprint(facts[i])), ':')
		switch fact := facts[i+1].(type) {
		case bool:
			line = strconv.AppendBool(line, fact)
		case string:
			line = fields.AppendText(line, fact)
		default:
			line = fields.AppendText(line, fmt.Sprint(fact))
		}
	}
	if l.isFull() {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	// This needs no lock: the kernel appends each line whole. During a rotation, the line may go
	// into the older file, which does no harm.
	return l.root.Log(logFile, append(line, '}', '\n'))
}

// WriteTexts is like Write, but all values are texts, and it leaves out a name whose value is
// empty.
func (l *EventLog) WriteTexts(ctx context.Context, event string, pairs ...string) error {
	var facts []any
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			facts = append(facts, pairs[i], pairs[i+1])
		}
	}
	return l.Write(ctx, event, facts...)
}

func (l *EventLog) isFull() bool {
	v, err := l.root.Version(logFile)
	return err == nil && v.Size() >= logMax
}

// Record is like Write, but after an error it only logs a warning, because the event has happened
// already.
func (l *EventLog) Record(ctx context.Context, event string, facts ...any) {
	if err := l.Write(ctx, event, facts...); err != nil {
		l.log.Warn("event could not be logged", "event", event, "err", err)
	}
}

// rotate renames the log if it is still full. If another process holds the lock, rotate does
// nothing: that process renames the log just now, or it is suspended, perhaps for days, and the log
// grows until it goes on or ends.
func (l *EventLog) rotate() error {
	lock, err := atomicfile.OpenLocked(l.root, logLock)
	if err != nil {
		return err
	}
	defer lock.Release()
	if free, err := lock.Try(); !free || err != nil || !l.isFull() {
		return err
	}
	for n := logKeep; n > 0; n-- {
		old := logFile
		if n > 1 {
			old += "." + strconv.Itoa(n-1)
		}
		err := l.root.Rename(old, logFile+"."+strconv.Itoa(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Tail returns at most limit lines from the end of broker.log, oldest first. It skips lines that
// are not JSON.
func (l *EventLog) Tail(ctx context.Context, limit int) ([]json.RawMessage, error) {
	data, err := l.root.ReadIf(logFile)
	if err != nil {
		return nil, err
	}
	var lines []json.RawMessage
	for len(data) > 0 && len(lines) < limit {
		data = bytes.TrimRight(data, "\n")
		i := bytes.LastIndexByte(data, '\n') + 1
		if line := data[i:]; json.Valid(line) {
			lines = append(lines, json.RawMessage(line))
		}
		data = data[:i]
	}
	slices.Reverse(lines)
	return lines, nil
}
