// This part writes and reads broker.log: one line for each event in a root, such as a sent message,
// without the text of messages.

package sessions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/fields"
	"c2c/wake"
)

const (
	logFile = "broker.log"
	logLock = "broker.log.lock"
	logMax  = 10 << 20 // bytes
	logKeep = 5        // number of older files; broker.log.1 is the newest of them

	EventSent = "dm_enqueue" // the event of a stored message; see docs/compatibility.md for the names
)

// EventLog is broker.log of an open root. It does not close the root.
type EventLog struct {
	root *atomicfile.Dir
	now  func() time.Time
	log  inbox.Log
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
	info, err := l.root.Stat(logFile)
	return err == nil && info.Size() >= logMax
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
		err := l.root.Rename(logName(n-1), logName(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Tail returns at most limit lines from the end of broker.log, oldest first. It skips lines that
// are not JSON.
func (l *EventLog) Tail(limit int) ([]json.RawMessage, error) {
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

// Results of a ring for one message. SPEC-091 4.6 has these names, and calls a ring a doorbell.
const (
	ResultRang       = "rang"
	ResultCoalesced  = "coalesced"   // the session was rung before, and has not read its mail since
	ResultFiltered   = "filtered"    // the message does not wake a session
	ResultUncaptured = "uncaptured"  // the client was reached, but did not take the ring
	ResultFailed     = "send-failed" // the client could not be reached
)

// doorbellEvent is the name of the event in broker.log that records a doorbell.
const doorbellEvent = "surface_doorbell_sent"

// ResultOf returns the result for the outcome of a ring.
func ResultOf(outcome string) string {
	switch outcome {
	case wake.Rang:
		return ResultRang
	case wake.Coalesced:
		return ResultCoalesced
	case wake.Filtered:
		return ResultFiltered
	case wake.Failed:
		return ResultFailed
	}
	return ResultUncaptured
}

// Doorbell writes the outcome of a ring into broker.log, one line for each message that waits for
// the session.
func (l *EventLog) Doorbell(ctx context.Context, sid string, msgs []mail.Message, r wake.Ring) {
	for _, m := range msgs {
		l.Record(ctx, doorbellEvent, "result", ResultOf(r.Outcome), "message_id", m.ID, "kind", cmp.Or(m.Kind, "message"),
			"trace_id", r.RingID, "session_id", sid, "method", wake.ByStream)
	}
}

// Doorbells counts the results for one session since broker.log was last rotated. It also has the
// latest results.
type Doorbells struct {
	Rang       int        `json:"rang"`
	Coalesced  int        `json:"coalesced"`
	Filtered   int        `json:"filtered"`
	Uncaptured int        `json:"uncaptured"`
	Failed     int        `json:"send_failed"`
	Last       []Doorbell `json:"last,omitempty"` // the newest last
}

// Doorbell is one result.
type Doorbell struct {
	At      float64 `json:"ts"` // Unix seconds
	Result  string  `json:"result"`
	Message string  `json:"message_id"`
	Kind    string  `json:"kind"`
	Trace   string  `json:"trace_id"`
	Method  string  `json:"method"`
}

// lastDoorbells bounds Doorbells.Last.
const lastDoorbells = 5

// DoorbellsOf reads the doorbell results of a session from broker.log.
func (l *EventLog) DoorbellsOf(sid string) (d Doorbells, err error) {
	data, err := l.root.ReadIf(logFile)
	if err != nil {
		return d, err
	}
	event := []byte(`"` + doorbellEvent + `"`)
	for line := range bytes.Lines(data) {
		var one struct {
			Doorbell
			Event   string `json:"event"`
			Session string `json:"session_id"`
		}
		if !bytes.Contains(line, event) || json.Unmarshal(line, &one) != nil || one.Event != doorbellEvent || one.Session != sid {
			continue
		}
		switch one.Result {
		case ResultRang:
			d.Rang++
		case ResultCoalesced:
			d.Coalesced++
		case ResultFiltered:
			d.Filtered++
		case ResultUncaptured:
			d.Uncaptured++
		case ResultFailed:
			d.Failed++
		}
		d.Last = append(d.Last[max(0, len(d.Last)-lastDoorbells+1):], one.Doorbell)
	}
	return d, nil
}

// ringEvent is the name of the event in broker.log that records each try to ring a session.
const ringEvent = "ring"

// RingRecord is a try to ring a session, from broker.log.
type RingRecord struct {
	At              float64 `json:"ts"` // Unix seconds
	Event           string
	SID             string `json:"session_id"`
	Method, Outcome string
}

// RungSince calls f for each try to ring a session since a time. The result back is the time from
// which on broker.log has all of them: later than since if older lines are gone.
func (l *EventLog) RungSince(since time.Time, f func(RingRecord)) (back time.Time, err error) {
	event, from, first := []byte(`"event":"`+ringEvent+`"`), mail.Seconds(since), 0.0
	more, err := l.newestFirst(0, func(lines []byte) (more bool) {
		atomicfile.EachBackwards(lines, func(line []byte) bool {
			at := timeOf(line)
			if more = at == 0 || at >= from; !more {
				return false
			}
			first = cmp.Or(at, first)
			var one RingRecord
			if bytes.Contains(line, event) && json.Unmarshal(line, &one) == nil && one.Event == ringEvent && one.At >= from {
				f(one)
			}
			return true
		})
		return more
	})
	if _, last := l.root.Stat(logName(logKeep)); last == nil && more && first > 0 { // older lines are gone
		since = mail.FromSeconds(first)
	}
	return since, err
}

// timeOf returns the time of a line that Write has written, and 0 for any other line, such as the
// half line that a full disk left.
func timeOf(line []byte) float64 {
	rest, _ := bytes.CutPrefix(line, []byte(`{"ts":`))
	number, _, whole := bytes.Cut(rest, []byte(","))
	at, err := strconv.ParseFloat(string(number), 64)
	if err != nil || !whole {
		return 0
	}
	return at
}

// newestFirst calls f with the lines of broker.log and of its older files, in blocks of a size,
// newest first, until f returns false. The lines are valid only during the call.
func (l *EventLog) newestFirst(block int, f func(lines []byte) (more bool)) (more bool, err error) {
	r := atomicfile.BackReader{Block: block}
	for n := 0; n <= logKeep; n++ {
		file, err := l.root.OpenHandle(logName(n), os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		more, err = r.Read(file, 0, f)
		file.Close()
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// logName returns the name of the newest file of the log, 0, or of an older one.
func logName(n int) string {
	if n == 0 {
		return logFile
	}
	return logFile + "." + strconv.Itoa(n)
}

// SentLately reads the last logLately bytes of broker.log. These are about 300 lines.
const logLately = 64 << 10

// Sent returns sender, receiver and time of a message that is not kept any more, if broker.log has
// them.
func (l *EventLog) Sent(id string) (found []mail.Message, err error) {
	for n := 0; n <= logKeep && len(found) == 0; n++ {
		data, rerr := l.root.ReadIf(logName(n))
		err = errors.Join(err, rerr)
		found = sentIn(data, id)
	}
	return found, err
}

// SentLately is like Sent, but reads only the end of broker.log.
func (l *EventLog) SentLately(id string) (found []mail.Message, err error) {
	_, err = l.newestFirst(logLately, func(lines []byte) (more bool) {
		found = sentIn(lines, id)
		return false
	})
	return found, err
}

// sentIn finds, in lines of the log, the messages whose ids end with id.
func sentIn(lines []byte, id string) (found []mail.Message) {
	if len(id) < mail.ShortLen {
		return nil
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(lines) {
		var sent struct {
			Event string  `json:"event"`
			TS    float64 `json:"ts"`
			From  string  `json:"from_alias"`
			To    string  `json:"to_alias"`
			ID    string  `json:"message_id"`
		}
		if !bytes.Contains(line, []byte(id)) || json.Unmarshal(line, &sent) != nil || sent.Event != EventSent || !strings.HasSuffix(sent.ID, id) {
			continue
		}
		if key := sent.ID + "\x00" + strings.ToLower(sent.From); !seen[key] {
			seen[key] = true
			found = append(found, mail.Message{From: sent.From, To: sent.To, ID: sent.ID, TS: sent.TS})
		}
	}
	return found
}
