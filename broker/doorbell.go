package broker

import (
	"cmp"
	"context"

	"c2c/inbox"
	"c2c/wake"
)

// Results of one doorbell for one message, in the words of SPEC-091 4.6.
const (
	ResultRang       = "rang"
	ResultCoalesced  = "coalesced"   // a bell is out, and nobody has drained since
	ResultFiltered   = "filtered"    // it wakes nobody
	ResultUncaptured = "uncaptured"  // the client is there and did not take the bell
	ResultFailed     = "send-failed" // the client could not be reached
)

// doorbellEvent is the event of such a result in broker.log.
const doorbellEvent = "surface_doorbell_sent"

func resultOf(outcome string) string {
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

// LogDoorbell writes what became of messages that wait for a session, one line for each, into broker.log.
func (b *Broker) LogDoorbell(ctx context.Context, sid string, msgs []inbox.Message, r wake.Ring) {
	for _, m := range msgs {
		b.record(ctx, doorbellEvent, Note{"result", resultOf(r.Outcome)}, Note{"message_id", m.ID}, Note{"kind", cmp.Or(m.Kind, "message")},
			Note{"trace_id", r.Trace}, Note{"session_id", sid}, Note{"method", wake.ByStream})
	}
}
