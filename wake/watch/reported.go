package watch

import (
	"context"
	"slices"

	"c2c/inbox/mail"
	"c2c/wake"
)

// reported remembers which of the messages that waited at the last check are reported, and the last
// ring that was reported.
type reported struct {
	known  map[mailKey]bool // the messages for which Watcher has called Report
	ringID string
	method string
}

// mailKey identifies a message: two senders may use one id.
type mailKey struct{ id, from string }

func keyOf(m mail.Message) mailKey { return mailKey{m.ID, m.From} }

// reportRing reports a ring for msgs. Messages that may wake a session get the outcome of the ring,
// and the others count as filtered.
func (w *Watcher) reportRing(ctx context.Context, msgs []mail.Message, r wake.Ring) {
	if w.Report == nil {
		return
	}
	w.reported.ringID, w.reported.method = r.RingID, r.Method
	rung, others := split(msgs)
	w.Report(ctx, rung, r)
	w.tellNew(ctx, others, wake.Ring{At: r.At, Outcome: wake.Filtered})
	w.remember(msgs)
}

// reportUnrung reports messages for which there was no ring and no report yet. The argument outcome
// is "" while nothing is decided: the session works, or the last ring was a moment ago.
func (w *Watcher) reportUnrung(ctx context.Context, msgs []mail.Message, outcome string) {
	if w.Report == nil {
		return
	}
	now := w.Now()
	rung, others := split(msgs)
	switch outcome {
	case wake.Filtered: // Filtered applies to all messages: the session wants no ring
		rung, others = nil, msgs
	case wake.Coalesced:
		w.tellNew(ctx, rung, wake.Ring{At: now, Outcome: wake.Coalesced, Method: w.reported.method, RingID: w.reported.ringID})
	default:
		rung = slices.DeleteFunc(rung, func(m mail.Message) bool { return !w.reported.known[keyOf(m)] })
	}
	w.tellNew(ctx, others, wake.Ring{At: now, Outcome: wake.Filtered})
	w.remember(append(rung, others...))
}

// split separates the messages that may wake a session from the others.
func split(msgs []mail.Message) (rung, others []mail.Message) {
	return wake.MayWake(msgs), slices.DeleteFunc(slices.Clone(msgs), mail.Message.Rings)
}

// tellNew reports the messages in msgs that were not reported yet. If r has no ring id, they get a
// new ring id.
func (w *Watcher) tellNew(ctx context.Context, msgs []mail.Message, r wake.Ring) {
	news := slices.DeleteFunc(slices.Clone(msgs), func(m mail.Message) bool { return w.reported.known[keyOf(m)] })
	if len(news) == 0 {
		return
	}
	if r.Count = len(news); r.RingID == "" {
		r.RingID = mail.NewID(r.At)
	}
	w.Report(ctx, news, r.For(news[0]))
}

// remember records msgs as reported, and forgets all other messages: the session has read those.
func (w *Watcher) remember(msgs []mail.Message) {
	w.reported.known = make(map[mailKey]bool, len(msgs))
	for _, m := range msgs {
		w.reported.known[keyOf(m)] = true
	}
}
