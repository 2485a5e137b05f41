package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"c2c/inbox"
)

const (
	deadFile = "dead-letter.jsonl"
	deadLock = "dead-letter.jsonl.lock"
)

// DeadLetter is a message whose session was swept before it was read.
type DeadLetter struct {
	DeletedAt float64       `json:"deleted_at"`
	SessionID string        `json:"from_session_id"` // whose mailbox it was in
	Message   inbox.Message `json:"message"`
}

// DeadLetters lists the newest dead letters, oldest first; limit 0 is all of them.
func (b *Broker) DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error) {
	lines, err := b.deadLines()
	if err != nil {
		return nil, err
	}
	var list []DeadLetter
	for _, line := range lines {
		if d, ok := parseDead(line); ok {
			list = append(list, d)
		}
	}
	if limit > 0 {
		list = list[max(0, len(list)-limit):]
	}
	return list, nil
}

// hasDead says whether there may be dead letters. When it cannot tell, reading them will say why.
func (b *Broker) hasDead() bool {
	info, err := b.root.Stat(deadFile)
	return err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

func (b *Broker) deadLines() ([][]byte, error) {
	data, err := b.root.Read(deadFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return bytes.SplitAfter(data, []byte("\n")), nil
}

// parseDead reads a line. One that does not parse stays in the file and is passed over. A message of the
// original without an id gets one from its line, so that it is not redelivered twice.
func parseDead(line []byte) (d DeadLetter, ok bool) {
	if len(bytes.TrimSpace(line)) == 0 || json.Unmarshal(line, &d) != nil {
		return d, false
	}
	if d.Message.ID == "" {
		sum := sha256.Sum256(bytes.TrimSpace(line))
		d.Message.ID = "dead-" + hex.EncodeToString(sum[:12])
	}
	return d, true
}

// bury appends messages of a swept session.
func (b *Broker) bury(ctx context.Context, sid string, messages []inbox.Message) error {
	var lines []byte
	for _, m := range messages {
		line, err := formatDead(seconds(b.now()), sid, m)
		if err != nil {
			return fmt.Errorf("bury message %s: %w", m.ID, err)
		}
		lines = append(lines, line...)
	}
	return b.locked(ctx, deadLock, func() error {
		before, err := b.deadLines()
		if err != nil {
			return err
		}
		if n := len(before); n > 0 && len(before[n-1]) > 0 { // the last line has no end: a power cut, or the original
			lines = append([]byte("\n"), lines...)
		}
		return b.root.Append(deadFile, lines)
	})
}

func formatDead(at float64, sid string, m inbox.Message) ([]byte, error) {
	message, err := m.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var r row
	r.setTime("deleted_at", at)
	r.setText("from_session_id", sid)
	r.set("message", message)
	return append(r.appendJSON(nil), '\n'), nil
}
