package owed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// DeadLetterLock is a lock file in the root. Each process that changes the dead letters then closes
// this file, so watch it for changes.
const DeadLetterLock = callers.DeadLetterFile + ".lock"

// DeadLetter is an unread message that is in no mailbox: a sweep has removed its session, it has
// expired, or no mailbox can take it.
type DeadLetter struct {
	DeletedAt float64      `json:"deleted_at"`
	SessionID string       `json:"from_session_id"`  // the session whose mailbox had the message
	Reason    string       `json:"reason,omitempty"` // Expired, or why no mailbox can take it; empty if its session was swept
	Message   mail.Message `json:"message"`
}

// DeadLetters lists the dead letters, from old to new.
func DeadLetters(reg *sessions.Registry) ([]DeadLetter, error) {
	lines, err := ReadDeadLines(reg)
	if err != nil {
		return nil, err
	}
	var list []DeadLetter
	for _, line := range lines {
		if d, ok := ParseDead(line); ok {
			list = append(list, d)
		}
	}
	return list, nil
}

// ReadDeadLines returns the lines of the file of dead letters.
func ReadDeadLines(reg *sessions.Registry) ([][]byte, error) {
	data, err := reg.Dir().ReadIf(callers.DeadLetterFile)
	if err != nil || data == nil {
		return nil, err
	}
	return bytes.SplitAfter(data, []byte("\n")), nil
}

// ParseDead parses one line. If ok is false, the caller skips the line, and the line stays in the
// file. A message without an id gets an id made from its line, so that it is not redelivered twice.
func ParseDead(line []byte) (d DeadLetter, ok bool) {
	if len(bytes.TrimSpace(line)) == 0 || json.Unmarshal(line, &d) != nil {
		return d, false
	}
	if d.Message.ID == "" {
		sum := sha256.Sum256(bytes.TrimSpace(line))
		d.Message.ID = fmt.Sprintf("dead-%x", sum[:12])
	}
	return d, true
}

// AddDead appends dead letters of the mailbox of sid. It skips letters that the file has already:
// an earlier sweep or move may have been killed before it had emptied the mailbox. It also skips
// c2c's notices, which would only cause further notices.
func AddDead(ctx context.Context, reg *sessions.Registry, sid string, dead ...DeadLetter) error {
	dead = slices.DeleteFunc(slices.Clone(dead), func(d DeadLetter) bool { return d.Message.IsNotice() })
	if len(dead) == 0 {
		return nil
	}
	return reg.Locks.With(ctx, DeadLetterLock, func() error {
		before, err := ReadDeadLines(reg)
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, line := range before {
			there[withoutTime(line)] = true
		}
		var lines []byte
		for _, d := range dead {
			d.DeletedAt, d.SessionID = mail.Seconds(reg.Now()), sid
			line, err := formatDead(d)
			if err != nil {
				return fmt.Errorf("write dead letter %s: %w", d.Message.ID, err)
			}
			if !there[withoutTime(line)] {
				lines = append(lines, line...)
			}
		}
		if err := reg.Dir().AppendLines(callers.DeadLetterFile, lines); err != nil {
			return err
		}
		logDead(ctx, reg, sid, dead)
		return nil
	})
}

// logDead logs one line for each message with a reason, and one line for all swept messages
// together.
func logDead(ctx context.Context, reg *sessions.Registry, sid string, dead []DeadLetter) {
	swept := 0
	for _, d := range dead {
		if d.Reason == "" {
			swept++
			continue
		}
		reg.Events.Record(ctx, "dead_letter_write", "session_id", sid, "message_id", d.Message.ID, "reason", d.Reason)
	}
	if swept > 0 {
		reg.Events.Record(ctx, "dead_letter_write", "session_id", sid, "messages", strconv.Itoa(swept))
	}
}

// withoutTime returns a line without its first field. In lines that c2c has written, this is the
// time.
func withoutTime(line []byte) string {
	_, rest, _ := bytes.Cut(line, []byte(","))
	return string(rest)
}

func formatDead(d DeadLetter) ([]byte, error) {
	message, err := d.Message.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var r sessions.Row
	r.SetTime("deleted_at", d.DeletedAt)
	r.SetText("from_session_id", d.SessionID)
	if d.Reason != "" {
		r.SetText("reason", d.Reason)
	}
	r.Set("message", message)
	return append(r, '\n'), nil
}

// MessageKey returns a text that is the same only for equal messages.
func MessageKey(m mail.Message) string {
	key, _ := m.MarshalJSON()
	return string(key)
}

// RemoveDead calls choose under the lock of the file. The result of choose maps lines of the file
// to new reasons. A line whose new reason is "" is removed. Another new reason replaces the reason
// in the line. All lines that are not in the map stay as they are.
func RemoveDead(ctx context.Context, reg *sessions.Registry, sid string, choose func() (map[string]string, error)) error {
	return reg.Locks.With(ctx, DeadLetterLock, func() error {
		reasons, err := choose()
		if err != nil || len(reasons) == 0 {
			return err
		}
		all, err := ReadDeadLines(reg)
		if err != nil {
			return err
		}
		var kept []byte
		var refused []DeadLetter
		for _, line := range all {
			reason, named := reasons[string(line)]
			if reason != "" {
				d, _ := ParseDead(line)
				d.Reason = reason
				refused = append(refused, d)
				line, err = formatDead(d)
			}
			if err != nil {
				return err
			}
			if !named || reason != "" {
				kept = append(kept, line...)
			}
		}
		if err := reg.Dir().Replace(callers.DeadLetterFile, kept); err != nil {
			return err
		}
		logDead(ctx, reg, sid, refused)
		return nil
	})
}
