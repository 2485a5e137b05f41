package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"c2c/inbox/mail"
)

const (
	logFile = "broker.log"
	logLock = "broker.log.lock"
	logMax  = 10 << 20 // bytes, as the original
	logKeep = 5        // older files: broker.log.1 is the newest of them

	LogSent = "dm_enqueue" // the event of a message that was stored; the original's word
)

// Note is one fact of a log line; Value is a string or a bool.
type Note struct {
	Name  string
	Value any
}

// LogEvent appends a line to broker.log, which people and `tail_log` read. Never give it a body or a token.
func (reg *Registry) LogEvent(ctx context.Context, event string, notes ...Note) error {
	var r Row
	r.SetTime("ts", mail.Seconds(reg.Now()))
	r.SetText("event", event)
	for _, n := range notes {
		switch v := n.Value.(type) {
		case bool:
			r.Set(n.Name, strconv.AppendBool(nil, v))
		case string:
			r.SetText(n.Name, v)
		}
	}
	if reg.logIsFull() {
		if err := reg.Locked(ctx, logLock, reg.rotateLog); err != nil {
			return err
		}
	}
	// Without the lock: the kernel appends each line whole, and one that comes during a rotation stands in
	// the older file.
	return reg.root.Log(logFile, append(r, '\n'))
}

// LogPairs is LogEvent for packages that do not know a Note: names and values in turn. Empty values are left out.
func (reg *Registry) LogPairs(ctx context.Context, event string, pairs ...string) error {
	var notes []Note
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			notes = append(notes, Note{pairs[i], pairs[i+1]})
		}
	}
	return reg.LogEvent(ctx, event, notes...)
}

func (reg *Registry) logIsFull() bool {
	v, err := reg.root.Version(logFile)
	return err == nil && v.Size() >= logMax
}

// Record is LogEvent, and only warns when it fails: what it logs has been done already.
func (reg *Registry) Record(ctx context.Context, event string, notes ...Note) {
	if err := reg.LogEvent(ctx, event, notes...); err != nil {
		reg.Log.Warn("event is not logged", "event", event, "err", err)
	}
}

// rotateLog renames the log if it is still full. The caller holds the lock.
func (reg *Registry) rotateLog() error {
	if !reg.logIsFull() {
		return nil
	}
	for n := logKeep; n > 0; n-- {
		old := logFile
		if n > 1 {
			old += "." + strconv.Itoa(n-1)
		}
		err := reg.root.Rename(old, logFile+"."+strconv.Itoa(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// TailLog gives the last lines of broker.log, oldest first; lines that are not JSON are passed over.
func (reg *Registry) TailLog(ctx context.Context, limit int) ([]json.RawMessage, error) {
	data, err := reg.root.ReadIf(logFile)
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
