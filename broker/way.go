package broker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/wake"
)

// through has the words for each way of handing over mail that does not ring; wake.About has those of the others.
var through = format.Pairs{
	{sessions.ByHook, "its hook"}, {"poll_inbox", "its tool poll_inbox"}, {"tool_result", "the result of a tool of c2c"}, {"cli_poll", "c2c poll-inbox"},
}

// byMethod describes how a session was rung, or how mail was handed over.
func byMethod(name string) string {
	if name == "" {
		return ""
	}
	return " by " + cmp.Or(wake.AboutMethod(name).Words, through.Of(name), name)
}

// Tell completes the status st of the message m: it adds the history of m, why m is not read, and what a person can do about that. The
// receiver s is nil if it is no longer registered.
func CompleteStatus(reg *sessions.Registry, st *MessageStatus, m mail.Message, s *sessions.Session) {
	now := reg.Now()
	st.KnownBy, st.StartedBy = mail.By(m), mail.Starter(m)
	at := func(t time.Time) string { return " at " + format.Clock(t, now) }
	if sent := m.Time(); !sent.IsZero() {
		st.StoredAt = sent.UTC()
		st.Way = append(st.Way, "stored"+at(sent))
	}
	if m.ShownAt != 0 {
		st.Way = append(st.Way, "handed"+at(mail.FromSeconds(m.ShownAt))+" to a conversation that ended or dropped it, and put back")
	}
	if st.Host != "" && st.State != sessions.Dead && st.State != owed.Expired {
		tellRemote(reg, st)
		return
	}
	if r := st.LastRing; r.Outcome == wake.Rang {
		st.Way = append(st.Way, "rang "+st.To+at(r.At)+byMethod(r.Method))
	} else if r.Outcome != "" && r.Outcome != sessions.Handed && r.Outcome != wake.Filtered {
		st.Way = append(st.Way, "did not ring "+st.To+at(r.At)+byMethod(r.Method)+": "+ringCause(r))
	}
	switch st.State {
	case sessions.Read:
		if !st.At.After(st.HandedAt) { // nothing reports the answers of this reader
			st.Way = append(st.Way, "handed"+at(st.At)+byMethod(st.By)+", which counts as read")
		} else {
			st.Way = append(st.Way, "handed"+at(st.HandedAt)+byMethod(st.By), "read since then: its model last answered"+at(st.At))
		}
	case sessions.Handed:
		st.Way = append(st.Way, handedWords(*st, at(st.At)+byMethod(st.By)))
		if receiver := receiverNow(reg, st, s); receiver.Does == sessions.Busy || receiver.Does == sessions.Waiting {
			st.Why = receiver.Says(s.Alias, now)
		}
		if why, when := sessions.ModelFailure(reg, st.SessionID); st.shown && why != "" { // also if the failure was before st.At, the time of a receipt, which may come late
			st.Why = strings.TrimPrefix(st.Why+"; its model failed"+at(when)+": "+why, "; ")
		}
	case owed.Expired:
		st.Way = append(st.Way, "expired"+at(st.At)+" unread")
	case sessions.Dead:
		st.Way = append(st.Way, "a dead letter since "+format.Clock(st.At, now))
		st.Do = "c2c dead-letter shows it"
	default:
		tellWhy(reg, st, m, s)
	}
}

func ringCause(r wake.Ring) string {
	if r.Cause == "" {
		return r.Outcome
	}
	return r.Cause
}

// handedWords describes the state "handed". If the text was typed into a terminal, no receipt ever comes. If a program took the mail, the
// receipt may still come.
func handedWords(st MessageStatus, how string) string {
	switch {
	case wake.AboutMethod(st.By).Typed:
		return "typed" + how + ", and nothing tells whether the model has it"
	case st.By == sessions.ByEvents:
		return "written to the stream of events of its sender outside, and nothing tells whether anybody has read it"
	case st.LastRing.Outcome == sessions.Handed:
		return "handed in part" + how
	case st.shown && st.By == "cli_poll": // its session may have ended
		return "handed" + how + ", to whoever ran it, and its model has not answered since"
	case st.shown:
		return "handed" + how + ", and its model has not answered since"
	}
	return "handed" + how + ", and its receipt has not come"
}

// receiverNow adds to the status what the receiver s does now, and also returns it. s may be nil.
func receiverNow(reg *sessions.Registry, st *MessageStatus, s *sessions.Session) (receiver sessions.Now) {
	if s != nil {
		receiver = reg.Prober().Now(*s, true)
		st.Receiver = &receiver
	}
	return receiver
}

// tellWhy adds to the status why a waiting message is not read.
func tellWhy(reg *sessions.Registry, st *MessageStatus, m mail.Message, s *sessions.Session) {
	if s == nil {
		st.Why, st.Do = "no session has this mailbox any more", "c2c sweep turns it into a dead letter"
		return
	}
	receiver := receiverNow(reg, st, s)
	ring, why := st.LastRing, s.Outlook(receiver)
	switch {
	case st.Held || !st.NotBefore.IsZero():
		return // the caller explains what holds the message back
	case receiver.Does == sessions.Absent:
		st.Do = remedy(reg, *s, wake.Ring{Outcome: wake.Failed})
	case sessions.TakenOut(reg, s):
		why, st.Do = sessions.NothingComes, "run c2c install again"
	case receiver.Does == sessions.Busy, receiver.Does == sessions.External:
	case hasLostRinger(reg, s):
		why, st.Do = unrung(reg, s)
	case receiver.Does == sessions.Waiting:
		st.Do = "answer the dialog in its terminal"
	case receiver.Does == sessions.Away:
		st.Do = remedy(reg, *s, ring)
	case receiver.Does == sessions.Person:
		st.Why = s.PersonReads()
		return
	case ring.Outcome == wake.Refused || ring.Outcome == wake.Held || ring.Outcome == wake.Uncaptured || ring.Outcome == wake.Failed:
		why, st.Do = "", remedy(reg, *s, ring)
	case s.Quiet:
		st.Do = "c2c dnd off --session-id " + s.Alias + " lets mail wake it"
	case len(wake.MayWake([]mail.Message{m})) == 0:
		why = "the message is deferrable and wakes nobody: the next turn brings it"
	case ring.Outcome == wake.Rang:
		why, st.Do = sinceTheRing(reg, ring)
	case receiver.Does == sessions.Unknown:
		why = "its next call of c2c brings the message"
	case isRung(reg, s) && !notBegun(reg, s):
		why = "it is about to be rung"
	case s.OverHTTP():
		why, st.Do = "nothing rings it: its next call of a tool brings the message", "its client has no stream of events open, or does not answer there: c2c doctor tells more"
	default:
		why, st.Do = unrung(reg, s)
	}
	st.Why = strings.TrimSuffix(receiver.Says(s.Alias, reg.Now())+"; "+why, "; ")
}

// notBegun reports whether c2c start made the session or a window is about to open it (Opening), and nothing of c2c runs in its client.
func notBegun(reg *sessions.Registry, s *sessions.Session) bool {
	return (s.Started || s.Opening) && s.State == sessions.Alive && !reg.Locks.HasServer(s.ID) && !reg.Locks.HasRinger(s.ID)
}

// isRung reports whether c2c knows a process that rings the session.
func isRung(reg *sessions.Registry, s *sessions.Session) bool {
	return reg.Locks.HasRinger(s.ID) || reg.Prober().HasBell(*s) || s.Pane != "" && reg.Locks.Held(sessions.WakeLock)
}

// hasLostRinger reports whether the process that rang the session has ended, and no other one rings it.
func hasLostRinger(reg *sessions.Registry, s *sessions.Session) bool {
	if !s.HasBell() {
		return false // make no system calls
	}
	_, why := reg.Prober().Surface(*s)
	return why == sessions.RingerEnded
}

// unrung returns why nothing rings a session, and what a person can do so that mail wakes it.
func unrung(reg *sessions.Registry, s *sessions.Session) (why, do string) {
	p, _ := client.Find(s.Client)
	anew := func() string { return "open it anew with " + p.Reopens(s.Alias, s.ClientID(), reg.Getenv) }
	do = "no server of c2c runs in it: c2c doctor tells why"
	switch {
	case hasLostRinger(reg, s):
		if do = anew(); p.Open == nil && !p.Shared(s.Process, reg.Getenv) { // never end a process that may have other sessions, too
			do = "end it (process " + strconv.Itoa(s.Process) + ") and " + do
		}
		return sessions.RingerEnded, "its next prompt brings the mail; if no terminal shows it any more, " + do // only c2c start takes the terminal with it
	case notBegun(reg, s):
		return "nothing of c2c has run in its client yet", wake.DialogWaits
	case s.Pane != "":
		do = "c2c wake start rings it in its pane"
	case p.Typed:
		do = "mail wakes it only if you end it and " + anew() + ", or run c2c wake attach in its pane of tmux or screen"
	case reg.Locks.HasServer(s.ID):
		do = "c2c doctor tells more"
	}
	return sessions.Unrung, do
}

// sinceTheRing returns why a session has not read yet, although it was rung.
func sinceTheRing(reg *sessions.Registry, ring wake.Ring) (why, do string) {
	if reg.Now().Sub(ring.At) <= answerTime {
		return "it has been rung just now", ""
	}
	return "nobody has read since the ring", cmp.Or(wake.AboutMethod(ring.Method).Ignored, "do its hooks run? c2c doctor tells")
}

// Sender returns a sentence on how c2c knows who wrote the message.
func (st MessageStatus) Sender() (text string) {
	switch st.KnownBy {
	case mail.ByProcess:
		text = "c2c has seen the process of " + st.From
	case mail.ByPerson:
		text = st.From + " is a person, at a terminal or on the page"
	case mail.ByOutside:
		text = st.From + " has shown its key"
	case mail.ByHost:
		_, host, _ := strings.Cut(st.From, "@")
		text = host + " has signed it, and says which of its sessions wrote it"
	case mail.ByClaim:
		text = "c2c has no proof that " + st.From + " wrote it"
	default:
		text = "c2c does not know who wrote it: another program or an older c2c has stored it"
	}
	if st.StartedBy != "" {
		text += "; " + st.StartedBy + " has started it"
	}
	return text
}

// Sentence returns the history of a message in one line.
func (st MessageStatus) Sentence() string {
	return strings.TrimSuffix(strings.Join(append(slices.Clone(st.Way), st.Why), "; "), "; ")
}
