package owed

import (
	"slices"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// chainLink is the place of a message in a chain.
type chainLink struct {
	hops  int          // count of the message; 0: it begins a chain
	after mail.Message // the message that caused it
}

// guardLook bounds how many of a session's latest messages are searched for a chain.
const guardLook = 64

// handed returns when a message was handed over. It returns zero if a time of the message is in the
// future, from a wrong clock.
func handed(a inbox.ArchiveRecord, now time.Time) time.Time {
	sent, at := a.Time(), mail.FromSeconds(a.DrainedAt)
	if sent.After(now) || at.After(now) {
		return time.Time{}
	}
	return at
}

func chainOf(m mail.Message) string {
	if mail.ValidName(m.GuardChain) {
		return m.GuardChain
	}
	return m.ID
}

func hopsOf(m mail.Message) int { return int(min(max(m.GuardHops, 0), mostHops)) }

// linkOf finds the message that caused a session to send m: the message that m answers, or else the
// message that was last handed over to the session. Many agents answer the first message of a long
// talk again and again. So linkOf takes the newest message of the same chain, not the answered
// message itself.
func linkOf(reg *sessions.Registry, from sessions.Session, m mail.Message, work sessions.Work, limit int) (l chainLink, err error) {
	box, err := reg.Mailbox(from.ID)
	if err != nil {
		return l, err
	}
	now := reg.Now()
	var seen []inbox.ArchiveRecord
	answers, looked := false, 0
	err = box.Archive().Recent(func(a inbox.ArchiveRecord) bool {
		looked++
		at := handed(a, now)
		switch recent := !at.IsZero() && now.Sub(at) <= guardPause; {
		case a.From == sessions.SystemAlias || a.Kind == mail.KindSystem || sessions.Fold(a.From) == sessions.Fold(from.Alias) || at.IsZero():
		case m.InReplyTo != "" && a.ID == m.InReplyTo:
			seen, answers = append(seen, a), true
		case a.FromPerson && recent: // what the session does since then follows this order of a person
			return false
		case recent:
			seen = append(seen, a)
		case m.InReplyTo == "":
			return false
		}
		return !answers && (m.InReplyTo != "" || len(seen) == 0) && looked < guardLook
	})
	if err != nil || len(seen) == 0 {
		return l, err
	}
	last := seen[0]
	if answers {
		chain := chainOf(seen[len(seen)-1].Message)
		last = seen[slices.IndexFunc(seen, func(a inbox.ArchiveRecord) bool { return chainOf(a.Message) == chain })]
	}
	hops := hopsOf(last.Message) + 1
	switch {
	case last.FromPerson || work.Since(last.Time()):
		return l, nil
	case now.Sub(handed(last, now)) <= guardPause:
	case hops <= limit: // the chain was silent, and none of its messages was held
		return l, nil
	default: // half-open
		hops = limit
	}
	return chainLink{hops, last.Message}, nil
}

// inChain reports whether the receiver has taken part in the chain of l. If it has not, a message
// to it is no answer in this chain.
func inChain(l chainLink, receiver sessions.Row, box *inbox.Mailbox) bool {
	if l.after.FromSession == receiver.SID() || sessions.Fold(l.after.From) == sessions.Fold(receiver.Alias()) {
		return true
	}
	found, looked := false, 0
	err := box.Archive().Recent(func(a inbox.ArchiveRecord) bool {
		looked++
		found = chainOf(a.Message) == chainOf(l.after)
		return !found && looked < guardLook
	})
	return found || err != nil
}
