package broker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

// through are the words for what rang a session, or handed mail over.
var through = pairs{
	{wake.BySocket, "its messaging socket"}, {wake.ByChannel, "its channel"}, {wake.ByServer, "its app-server"}, {wake.ByQueue, "its queue"},
	{wake.ByFile, "its file watcher"}, {wake.ByTerminal, "its terminal"}, {wake.ByPlugin, "its plugin"}, {wake.ByWire, "its wire daemon"}, {wake.ByStream, "its event stream"},
	{ByHook, "its hook"}, {"poll_inbox", "its tool poll_inbox"}, {"tool_result", "the result of a tool of c2c"}, {"cli_poll", "c2c poll-inbox"},
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + cmp.Or(through.of(who), who)
}

// tellWay adds to a status the way of the message so far, what keeps it from being read, and what can be done about that. s
// is its receiver, nil when that is no longer registered.
func (b *Broker) tellWay(st *MessageStatus, m inbox.Message, s *Session) {
	now := b.now()
	at := func(t time.Time) string { return " at " + Clock(t, now) }
	if sent := m.Time(); !sent.IsZero() {
		st.StoredAt = sent.UTC()
		st.Way = append(st.Way, "stored"+at(sent))
	}
	if r := st.LastRing; r.Outcome == wake.Rang {
		st.Way = append(st.Way, "rang "+st.To+at(r.At)+by(r.Method))
	} else if r.Outcome != "" && r.Outcome != Handed && r.Outcome != wake.Filtered {
		st.Way = append(st.Way, "did not ring "+st.To+at(r.At)+by(r.Method)+": "+ringCause(r))
	}
	switch st.State {
	case Read:
		st.Way = append(st.Way, "read"+at(st.At)+by(st.By))
	case Handed:
		st.Way = append(st.Way, handedWords(*st, at(st.At)+by(st.By)))
		if is := b.receiverNow(st, s); is.Does == Busy || is.Does == Waiting {
			st.Why = is.Says(s.Alias, now)
		}
		if why, when := b.Failure(st.SessionID); st.shown && why != "" { // the receipt may come behind it
			st.Why = strings.TrimPrefix(st.Why+"; its model failed"+at(when)+": "+why, "; ")
		}
	case Expired:
		st.Way = append(st.Way, "expired"+at(st.At)+", and nobody had read it")
	case Dead:
		st.Way = append(st.Way, "a dead letter since "+Clock(st.At, now))
		st.Do = "c2c dead-letter shows it"
	default:
		b.tellWhy(st, m, s)
	}
}

func ringCause(r wake.Ring) string {
	if r.Cause == "" {
		return r.Outcome
	}
	return r.Cause
}

// handedWords say what handed means: of what is typed no receipt comes, of what a program has it may still come.
func handedWords(st MessageStatus, how string) string {
	switch {
	case st.By == wake.ByTerminal:
		return "typed" + how + ", and nothing tells whether the model has it"
	case st.By == ByEvents:
		return "written to the stream of events of its sender outside, and nothing tells whether anybody has read it"
	case st.LastRing.Outcome == Handed:
		return "handed in part" + how
	case st.shown:
		return "handed" + how + ", and its model has not answered since"
	}
	return "handed" + how + ", and its receipt has not come"
}

// receiverNow adds to a status what its receiver does; nothing is known of nil.
func (b *Broker) receiverNow(st *MessageStatus, s *Session) (is Now) {
	if s != nil {
		is = b.nowOf(*s, true, b.looks())
		st.Receiver = &is
	}
	return is
}

// tellWhy says what keeps a message that waits from being read.
func (b *Broker) tellWhy(st *MessageStatus, m inbox.Message, s *Session) {
	if st.dropped {
		b.receiverNow(st, s)
		st.Why = "its client has dropped it with a request that failed or was stopped; the next prompt brings it again"
		return
	}
	if s == nil {
		st.Why = "no session has this mailbox any more"
		st.Do = "c2c sweep turns it into a dead letter"
		return
	}
	is := b.receiverNow(st, s)
	ring, says := st.LastRing, is.Says(s.Alias, b.now())
	mayWake := len(wake.MayWake([]inbox.Message{m})) > 0
	switch {
	case st.Held || !st.NotBefore.IsZero():
		return // what holds it back is told with what it is owed
	case is.Does == Absent:
		st.Do = remedy(*s, wake.Ring{Outcome: wake.Failed}, true)
	case b.uninstalled != nil && b.uninstalled(s.Client, s.Process):
		st.Why, st.Do = says+"; c2c was taken out of its client while that ran, so nothing brings it mail", "c2c install brings it back"
		return
	case is.Does == Waiting:
		st.Do = "answer the dialog in its terminal"
	case is.Does == Away:
		st.Do = remedy(*s, ring, true)
	case is.Does == Person:
		st.Why = s.personReads()
		return
	case is.Does == Busy, is.Does == External:
	case ring.Outcome == wake.Refused || ring.Outcome == wake.Held || ring.Outcome == wake.Uncaptured || ring.Outcome == wake.Failed:
		st.Why, st.Do = says, remedy(*s, ring, true)
		return
	case s.Quiet:
		st.Do = "c2c dnd off --session-id " + s.Alias + " lets mail wake it"
	case !mayWake:
		st.Why = says + "; the message is deferrable and wakes nobody: the next turn brings it"
		return
	case ring.Outcome == wake.Rang && b.now().Sub(ring.At) > answerTime:
		st.Why, st.Do = says+"; nobody has read since the ring", "its hooks may not run: c2c doctor tells"
		if ring.Method == wake.ByStream { // no client that was tried begins a turn on it
			st.Do = "its client may do nothing on that: its next call of a tool brings the message"
		}
		return
	case ring.Outcome == wake.Rang:
		st.Why = says + "; it has been rung just now"
		return
	case is.Does == Unknown:
		st.Why = says + "; its next call of c2c brings the message"
		return
	case b.HasRinger(s.ID):
		st.Why = says + "; it is about to be rung"
		return
	case s.facts.Transport == TransportHTTP:
		st.Why, st.Do = says+"; nothing rings it: its next call of a tool brings the message", "its client has no stream of events open, or does not answer there: c2c doctor tells more"
		return
	default:
		st.Why, st.Do = says+"; nothing rings it: its next turn brings the message", "no server of c2c runs in it: c2c doctor tells why"
		return
	}
	st.Why = strings.TrimSuffix(says+"; "+s.outlook(is), "; ")
}

// Sentence is the way of a message in one line.
func (st MessageStatus) Sentence() string {
	parts := slices.Clone(st.Way)
	if st.Why != "" {
		parts = append(parts, st.Why)
	}
	return strings.Join(parts, "; ")
}
