package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
)

// What a sender is to be told comes together: one notice names several messages, of several receivers, and a sender that was
// told something is left alone for tellGap, or longer (gapOf), unless it has said when it wants to hear, or its receiver has
// ended. What was read by then is not told at all. A sender that is absent is told when it is back.
const (
	tellGap = 2 * time.Hour
	// maxNews bounds the messages that one notice names.
	maxNews = 20
	// aboutField is what a notice of several messages says of each, for told and wasTold.
	aboutField = "about"
)

// news is something that the sender of a message is to be told.
type news struct {
	m      inbox.Message
	s      Session // its receiver; of a message that expired or died its alias alone
	reason string
	why    string // of a dead letter
}

// notice is the id of a notice about this alone. A question that nobody answers because its receiver has ended is told
// as one that nobody reads for that reason.
func (n news) notice() string {
	if n.reason == endedUnanswered {
		return noticeAbout(n.m, Ended)
	}
	return noticeAbout(n.m, n.reason)
}

// atOnce says whether it is told though its sender was told something just before: the sender has said when it wants to
// hear, or has to look for somebody else.
func (n news) atOnce() bool { return n.m.TellAfter > 0 || n.reason == Ended }

// gapOf is for how long a sender that was told something is left alone before it is told these. That messages wait which ask
// for nothing is worth half as many notices: the sender waits for nothing.
func gapOf(all []news) time.Duration {
	if slices.ContainsFunc(all, func(n news) bool { return n.reason != Unread || n.m.Owes() || n.m.AnswerBy != 0 }) {
		return tellGap
	}
	return 2 * tellGap
}

// isOld says whether other news of the message make these needless: a sender that was told that its receiver refuses mail, or has
// ended, knows why the message is unread.
func (k *Keeper) isOld(n news) bool {
	return n.reason == Unread && n.m.TellAfter <= 0 && (k.told[noticeAbout(n.m, Refused)] || k.told[noticeAbout(n.m, Ended)])
}

// tellNews tells senders what the look has found. next is when more is to be told.
func (k *Keeper) tellNews(ctx context.Context, rows []row) (next time.Time) {
	bySender, order := map[string][]news{}, []string{}
	for _, n := range k.allNews(rows) {
		if k.told[n.notice()] {
			continue
		}
		to := k.b.senderOf(rows, n.m)
		if to == nil || k.wasTold(ctx, to.sid(), n.notice()) || k.isOld(n) {
			continue
		}
		if bySender[to.sid()] == nil {
			order = append(order, to.sid())
		}
		bySender[to.sid()] = append(bySender[to.sid()], n)
	}
	now := k.b.now()
	for _, sid := range order {
		all := bySender[sid]
		to := rows[findSID(rows, sid)]
		if k.b.state(to) == Absent { // its return changes the registry, and so has somebody look
			continue
		}
		if again := k.toldAt[sid].Add(gapOf(all)); again.After(now) && !slices.ContainsFunc(all, news.atOnce) {
			next = earlier(next, again)
			continue
		}
		if len(all) > maxNews {
			all, next = all[:maxNews], earlier(next, now.Add(tellGap))
		}
		if err := k.b.tellTogether(ctx, to, all); err != nil {
			if ctx.Err() == nil {
				k.b.log.Warn("a sender is not told what its messages are owed", "session", sid, "err", err)
			}
			next = earlier(next, now.Add(keepAgain))
			continue
		}
		k.toldAt[sid] = now
		for _, n := range all {
			k.told[n.notice()] = true
		}
	}
	return next
}

// allNews gives what was found in all mailboxes and records, in the order of the registry.
func (k *Keeper) allNews(rows []row) (all []news) {
	for _, r := range rows {
		if kept := k.boxes[r.sid()]; kept != nil {
			all = append(all, kept.news...)
		}
	}
	for _, r := range rows {
		if kept := k.owed[r.sid()]; kept != nil {
			all = append(all, kept.news...)
		}
	}
	return all
}

// tellTogether puts one notice of all of them into a mailbox, once.
func (b *Broker) tellTogether(ctx context.Context, to row, all []news) error {
	if len(all) == 0 {
		return nil
	}
	m := inbox.Message{To: to.alias(), ID: all[0].notice(), InReplyTo: all[0].m.ID, Content: textOf(all)}
	if len(all) > 1 {
		type about struct {
			ID     string `json:"id"`
			Reason string `json:"reason"`
			Notice string `json:"notice"`
		}
		var list []about
		ids := []string{to.sid()}
		for _, n := range all {
			list, ids = append(list, about{n.m.ID, n.told(), n.notice()}), append(ids, n.notice())
			if n.m.ID != m.InReplyTo {
				m.InReplyTo = ""
			}
		}
		value, err := json.Marshal(list)
		if err != nil {
			return err
		}
		slices.Sort(ids)
		m.ID, m.Extra = noticeID("together", ids...), []inbox.Field{{Name: aboutField, Value: value}}
	}
	if CheckID(m.InReplyTo) != nil {
		m.InReplyTo = ""
	}
	return b.notify(ctx, to.sid(), m, all[0].told())
}

// told is the reason as a status tells it.
func (n news) told() string {
	if n.reason == endedUnanswered {
		return Ended
	}
	return n.reason
}

// noticesIn gives the ids of all notices that a message of c2c stands for.
func noticesIn(m inbox.Message) []string {
	ids := []string{m.ID}
	for _, f := range m.Extra {
		var list []struct{ Notice string }
		if f.Name == aboutField && json.Unmarshal(f.Value, &list) == nil {
			for _, one := range list {
				ids = append(ids, one.Notice)
			}
		}
	}
	return ids
}

// textOf says all of them, those of one receiver and one reason in a sentence.
func textOf(all []news) string {
	type kind struct{ to, reason, why string }
	groups, order := map[kind][]news{}, []kind{}
	for _, n := range all {
		k := kind{fold(cmp.Or(n.s.Alias, n.m.To)), n.reason, n.why}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], n)
	}
	var lines []string
	for _, k := range order {
		lines = append(lines, sentence(groups[k]))
	}
	return strings.Join(lines, "\n")
}

// sentence says some of one receiver and one reason.
func sentence(some []news) string {
	n := some[0]
	if len(some) == 1 {
		return n.text()
	}
	var names []string
	for _, one := range some {
		names = append(names, what(one.m))
	}
	to, which := cmp.Or(n.s.Alias, n.m.To), strings.Join(names, ", ")
	switch n.reason {
	case Unread:
		return fmt.Sprintf("%s has not read your messages %s, the oldest for %s.%s They still wait; c2c outbox tells more.", to, which, span(unreadAfter(n.s, n.m)), unreadWhy(n.s))
	case Refused:
		return fmt.Sprintf("The person of %s has its client refuse messages from other sessions, so your messages %s wait for its next turn.", to, which)
	case Ended:
		return fmt.Sprintf("The session of %s has ended without reading your messages %s. It gets them when it is started again; c2c handover %[1]s NAME gives its mail to another session.", to, which)
	case endedUnanswered:
		return fmt.Sprintf("The session of %s has ended without an answer to your messages %s. It is reminded when it is started again; until then, ask another session.", to, which)
	case Expired:
		return fmt.Sprintf("%s did not read your messages %s in time. They have expired and are not handed over any more; send them again if they still matter.", to, which)
	case Unanswered:
		return fmt.Sprintf("%s has not answered your messages %s in time; c2c status ID tells whether one was read.", to, which)
	}
	if n.why != "" {
		return fmt.Sprintf("Your messages %s to %s cannot be handed over: %s. c2c dead-letter shows them.", which, to, n.why)
	}
	return fmt.Sprintf("Nobody has read your messages %s to %s, and that session is gone for long. c2c dead-letter shows the messages.", which, to)
}

// text says one alone.
func (n news) text() string {
	switch n.reason {
	case Unread:
		return textUnread(n.s, n.m, unreadAfter(n.s, n.m))
	case Refused:
		return textRefused(n.s, n.m)
	case Ended:
		return textEnded(n.s, n.m)
	case endedUnanswered:
		return textEndedUnanswered(n.s, n.m)
	case Expired:
		return textExpired(n.m)
	case Unanswered:
		return textUnanswered(n.m)
	}
	return textDead(n.m, n.why)
}
