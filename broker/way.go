package broker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/wake"
)

// through has the words for each way of handing over mail that does not ring; wake.About has those
// of the others.
var through = format.Pairs{
	{inbox.ByHook, "its hook"}, {inbox.ByTool, "its tool poll_inbox"}, {inbox.ByResult, "the result of a tool of c2c"}, {inbox.ByCommand, "c2c poll-inbox"},
}

// byMethod describes how a session was rung, or how mail was handed over.
func byMethod(name string) string {
	if name == "" {
		return ""
	}
	return " by " + cmp.Or(wake.AboutMethod(name).Words, through.Of(name), name)
}

// CompleteStatus completes the status st of the message m: it adds the history of m, why m is not
// read, and what a person can do about that. The receiver s is nil if it is no longer registered.
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
	if st.Project != "" {
		tellProject(reg, st)
		return
	}
	if st.Host != "" && st.State != sessions.Dead && st.State != owed.Expired {
		tellRemote(reg, st)
		return
	}
	if r := st.LastRing; r.Outcome == wake.Rang {
		st.Way = append(st.Way, "rang "+st.To+at(r.At)+byMethod(r.Method))
	} else if r.Outcome != "" && r.Outcome != wake.InPart && r.Outcome != wake.Filtered {
		st.Way = append(st.Way, "did not ring "+st.To+at(r.At)+byMethod(r.Method)+": "+cmp.Or(r.Cause, r.Outcome))
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
		st.Do = "c2c history --dead shows it"
	default:
		tellWhy(reg, st, m, s)
	}
}

// handedWords describes the state "handed".
func handedWords(st MessageStatus, how string) string {
	switch {
	case st.By == inbox.ByEvents:
		return "written to the stream of events of its sender outside, and nothing tells whether anybody has read it"
	case st.LastRing.Outcome == wake.InPart:
		return "handed in part" + how
	case st.shown && st.By == inbox.ByCommand: // its session may have ended
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

// tellWhy adds to the status why a waiting message is not read. What holds the message back is for
// the caller to explain.
func tellWhy(reg *sessions.Registry, st *MessageStatus, m mail.Message, s *sessions.Session) {
	if s == nil {
		st.Why, st.Do = "no session has this mailbox any more", "c2c sweep turns it into a dead letter"
		return
	}
	if receiver := receiverNow(reg, st, s); !st.Held && st.NotBefore.IsZero() {
		st.Why, st.Do = reg.Prober().Why(*s, receiver, sessions.UnreadMail{Ring: st.LastRing, Deferrable: len(wake.MayWake([]mail.Message{m})) == 0})
	}
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
