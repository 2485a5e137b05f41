package sessions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"c2c/inbox/mail"
	"c2c/wake"
)

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
