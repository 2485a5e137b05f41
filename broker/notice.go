package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/digest"
)

// SystemAlias is the sender of c2c's own messages. Nobody can have this alias, and nobody is answered there.
const SystemAlias = inbox.SystemAlias

// kindSystem is the kind of c2c's own messages.
const kindSystem = inbox.KindSystem

// Reasons for which the sender of a message is told something. Dead is another one.
const (
	Unread  = "unread"  // nobody has read it for a time
	Refused = "refused" // the client's person lets others not write to it
	Expired = "expired" // nobody has read it before it expired
	Ended   = "ended"   // its receiver's session has ended
)

// endedUnanswered is Ended for a question that its receiver has read.
const endedUnanswered = "ended-unanswered"

// Reminder is the reason of a notice to who owes an answer. It is the only notice that rings.
const Reminder = "reminder"

// Told is one notice to the sender of a message.
type Told struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"` // UTC
}

// noticeID names the notice about a message for a reason. A mailbox takes an id of a sender once: so whoever tells the
// sender a second time, after a kill or at the same moment, tells nothing.
func noticeID(reason string, parts ...string) string {
	sum := digest.Sum256([]byte(reason + "\x00" + strings.Join(parts, "\x00")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8
	return inbox.UUID([16]byte(sum[:16]))
}

func noticeAbout(m inbox.Message, reason string) string {
	return noticeID(reason, fold(m.From), m.FromSession, fold(m.To), m.ID)
}

// senderOf gives the row of a message's sender, nil when nobody has its alias any more.
func (b *Broker) senderOf(rows []row, m inbox.Message) row { return b.authors(rows).of(m) }

// tell puts a notice about a message into its sender's mailbox, once for each reason.
func (b *Broker) tell(ctx context.Context, rows []row, m inbox.Message, reason, text string) error {
	to := b.senderOf(rows, m)
	if to == nil || m.From == SystemAlias {
		return nil
	}
	about := m.ID
	if CheckID(about) != nil {
		about = ""
	}
	return b.notify(ctx, to.sid(), inbox.Message{To: to.alias(), ID: noticeAbout(m, reason), InReplyTo: about, Content: text}, reason)
}

// maxTold bounds of how many messages in one mailbox their sender is told: who does not read five does not read the sixth.
const maxTold = 5

// quota counts, by folded alias, of how many messages in a mailbox their senders were told.
type quota map[string]int

// take says whether the sender of a message is told of it, and counts that. What its sender does not want to hear of
// counts for nothing.
func (q quota) take(m inbox.Message) bool {
	if !wantsNotice(m) {
		return false
	}
	q[fold(m.From)]++
	return q[fold(m.From)] <= maxTold
}

// tellDead tells the senders of dead letters of one mailbox, before those are gone from it: a kill in between costs a second
// try. It stops nobody.
func (b *Broker) tellDead(ctx context.Context, rows []row, told quota, dead ...DeadLetter) {
	var all []news
	for _, d := range dead {
		if told.take(d.Message) {
			all = append(all, news{m: d.Message, reason: Dead, why: d.Reason})
		}
	}
	b.tellSenders(ctx, rows, all)
}

// tellSenders tells senders at once what has become of messages, each in one notice. It stops nobody.
func (b *Broker) tellSenders(ctx context.Context, rows []row, all []news) {
	bySender, order := map[string][]news{}, []row{}
	for _, n := range all {
		to := b.senderOf(rows, n.m)
		if to == nil {
			continue
		}
		if bySender[to.sid()] == nil {
			order = append(order, to)
		}
		bySender[to.sid()] = append(bySender[to.sid()], n)
	}
	for _, to := range order {
		if err := b.tellTogether(ctx, to, bySender[to.sid()]); err != nil {
			b.log.Warn("a sender is not told that its messages are not handed over", "session", to.sid(), "err", err)
		}
	}
}

// notify delivers a message of c2c itself, unless the mailbox has had one with its id.
func (b *Broker) notify(ctx context.Context, sid string, m inbox.Message, reason string) error {
	box, err := b.Mailbox(sid)
	if err != nil {
		return err
	}
	m.From, m.FromSession, m.Kind, m.Deferrable = SystemAlias, SystemAlias, kindSystem, reason != Reminder
	stored, err := box.Deliver(ctx, m)
	if taken := new(inbox.IDTakenError); errors.As(err, &taken) {
		return nil // in other words: it was told at another time
	}
	if err != nil {
		return fmt.Errorf("tell session %q: %w", sid, err)
	}
	if !stored.Already[0] {
		b.record(ctx, "notice", Note{"to_alias", m.To}, Note{"reason", reason}, Note{"message_id", m.ID}, Note{"about", m.InReplyTo})
	}
	return nil
}

// told finds what the sender of a message was told of it.
func (b *Broker) told(ctx context.Context, rows []row, m inbox.Message) (all []Told, err error) {
	to := b.senderOf(rows, m)
	if to == nil {
		return nil, nil
	}
	box, err := b.Mailbox(to.sid())
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	var ids []string
	for _, reason := range []string{Refused, Unread, Ended, Expired, Dead, Unanswered} {
		id := noticeAbout(m, reason)
		reasons[id], ids = reason, append(ids, id)
	}
	found, err := box.Search(ctx, inbox.Query{
		Holds: func(data []byte) bool {
			return slices.ContainsFunc(ids, func(id string) bool { return bytes.Contains(data, []byte(id)) })
		},
		Is: func(notice inbox.Message) bool {
			return notice.IsNotice() && slices.ContainsFunc(noticesIn(notice), func(id string) bool { return reasons[id] != "" })
		}, Limit: len(ids),
	})
	for _, f := range found {
		for _, id := range noticesIn(f.Message) {
			if reasons[id] != "" {
				all = append(all, Told{reasons[id], f.Message.Time().UTC()})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].At.Before(all[j].At) })
	return all, err
}

// what names a message to who wrote it: its first words, when they are kept, and its short id.
func what(m inbox.Message) string {
	const most = 40
	words := []rune(strings.Join(strings.Fields(m.Content), " "))
	if len(words) == 0 {
		return inbox.ShortID(m.ID)
	}
	if len(words) > most {
		words = append(words[:most], '…')
	}
	return fmt.Sprintf("%q (%s)", inbox.Visible(string(words), ""), inbox.ShortID(m.ID))
}

// span is a time in words, to the minute, or to the second below two minutes.
func span(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", max(0, d.Round(time.Second)/time.Second))
	}
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch h, m := minutes/60, minutes%60; {
	case h == 0:
		return fmt.Sprintf("%d min", m)
	case m == 0:
		return fmt.Sprintf("%d h", h)
	default:
		return fmt.Sprintf("%d h %d min", h, m)
	}
}

// textUnread tells that a message was not read for so long.
func textUnread(s Session, m inbox.Message, after time.Duration) string {
	return fmt.Sprintf("%s has not read your message %s for %s.%s It still waits; c2c status %s tells more.",
		s.Alias, what(m), span(after), unreadWhy(s), inbox.ShortID(m.ID))
}

func unreadWhy(s Session) string {
	switch {
	case s.State == Absent:
		return " " + s.Alias + " is absent."
	case s.Quiet:
		return " " + s.Alias + " does not want to be disturbed."
	}
	return ""
}

func textUnanswered(m inbox.Message) string {
	return fmt.Sprintf("%s has not answered your message %s within %s; c2c status %s tells whether it was read.",
		m.To, what(m), span(inbox.FromSeconds(m.AnswerBy).Sub(m.Time())), inbox.ShortID(m.ID))
}

func textRefused(s Session, m inbox.Message) string {
	return fmt.Sprintf("The person of %s has its client refuse messages from other sessions, so your message %s waits for its next turn.", s.Alias, what(m))
}

func textEnded(s Session, m inbox.Message) string {
	return fmt.Sprintf("The session of %s has ended without reading your message %s. It gets it when it is started again; c2c handover %s NAME gives its mail to another session.",
		s.Alias, what(m), s.Alias)
}

func textEndedUnanswered(s Session, m inbox.Message) string {
	return fmt.Sprintf("The session of %s has ended without an answer to your message %s. It is reminded when it is started again; until then, ask another session.",
		s.Alias, what(m))
}

func textExpired(m inbox.Message) string {
	return fmt.Sprintf("%s did not read your message %s within %s. It has expired and is not handed over any more; send it again if it still matters.",
		m.To, what(m), span(inbox.FromSeconds(m.ExpiresAt).Sub(m.Time())))
}

func textDead(m inbox.Message, why string) string {
	if why != "" {
		return fmt.Sprintf("Your message %s to %s cannot be handed over: %s. c2c dead-letter shows it.", what(m), m.To, why)
	}
	return fmt.Sprintf("Nobody has read your message %s to %s, and that session is gone for long. c2c dead-letter shows the message.", what(m), m.To)
}
