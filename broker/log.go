package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"c2c/inbox"
)

const (
	logFile = "broker.log"
	logLock = "broker.log.lock"
	logMax  = 10 << 20 // bytes, as the original
	logKeep = 5        // older files: broker.log.1 is the newest of them

	logSent = "dm_enqueue" // the event of a message that was stored; the original's word
)

// Note is one fact of a log line; Value is a string or a bool.
type Note struct {
	Name  string
	Value any
}

// LogEvent appends a line to broker.log, which people and `tail_log` read. Never give it a body or a token.
func (b *Broker) LogEvent(ctx context.Context, event string, notes ...Note) error {
	var r row
	r.setTime("ts", inbox.Seconds(b.now()))
	r.setText("event", event)
	for _, n := range notes {
		switch v := n.Value.(type) {
		case bool:
			r.set(n.Name, strconv.AppendBool(nil, v))
		case string:
			r.setText(n.Name, v)
		}
	}
	if b.logIsFull() {
		if err := b.locked(ctx, logLock, b.rotateLog); err != nil {
			return err
		}
	}
	// Without the lock: the kernel appends each line whole, and one that comes during a rotation stands in
	// the older file.
	return b.root.Log(logFile, append(r, '\n'))
}

// LogPairs is LogEvent for packages that do not know a Note: names and values in turn. Empty values are left out.
func (b *Broker) LogPairs(ctx context.Context, event string, pairs ...string) error {
	var notes []Note
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			notes = append(notes, Note{pairs[i], pairs[i+1]})
		}
	}
	return b.LogEvent(ctx, event, notes...)
}

func (b *Broker) logIsFull() bool {
	v, err := b.root.Version(logFile)
	return err == nil && v.Size() >= logMax
}

// record is LogEvent, and only warns when it fails: what it logs has been done already.
func (b *Broker) record(ctx context.Context, event string, notes ...Note) {
	if err := b.LogEvent(ctx, event, notes...); err != nil {
		b.log.Warn("event is not logged", "event", event, "err", err)
	}
}

// rotateLog renames the log if it is still full. The caller holds the lock.
func (b *Broker) rotateLog() error {
	if !b.logIsFull() {
		return nil
	}
	for n := logKeep; n > 0; n-- {
		old := logFile
		if n > 1 {
			old += "." + strconv.Itoa(n-1)
		}
		err := b.root.Rename(old, logFile+"."+strconv.Itoa(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// TailLog gives the last lines of broker.log, oldest first; lines that are not JSON are passed over.
func (b *Broker) TailLog(ctx context.Context, limit int) ([]json.RawMessage, error) {
	data, err := b.root.ReadIf(logFile)
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
