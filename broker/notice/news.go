package notice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/registry"
)

// Notices to a sender are collected: one notice names several messages, to several receivers. For TellGap, or longer (GapOf), the
// sender gets no further one, unless it has set a time itself, or a receiver has ended. A message that was read by then is left
// out. An absent sender gets its notice when it is back.
const (
	TellGap = 2 * time.Hour
	// MaxNews is how many messages one notice names at most.
	MaxNews = 20
	// aboutField is the field of a notice that names several messages: one entry for each.
	aboutField = "about"
)

// News is something to tell the sender of a message.
type News struct {
	Message mail.Message
	Session sessions.Session // the receiver; only its alias if the message expired or is a dead letter
	Reason  string
	why     string // the reason of a dead letter
}

// Notice returns the id of a notice about this news alone. It is the same for a receiver that ended without answering and for
// one that ended without reading.
func (n News) Notice() string {
	if n.Reason == EndedUnanswered {
		return About(n.Message, Ended)
	}
	return About(n.Message, n.Reason)
}

// AtOnce reports whether the sender gets the notice even if it just got another one: it has set a time itself, or it has to ask
// another session.
func (n News) AtOnce() bool { return n.Message.TellAfter > 0 || n.Reason == Ended }

// GapOf returns how long after its last notice a sender gets the one with these news. If all are about unread messages that ask
// for no answer, the time is twice as long: their sender waits for nothing.
func GapOf(all []News) time.Duration {
	if slices.ContainsFunc(all, func(n News) bool { return n.Reason != Unread || n.Message.Owes() || n.Message.AnswerBy != 0 }) {
		return TellGap
	}
	return 2 * TellGap
}

// TellTogether puts one notice about all of these into a mailbox, once.
func TellTogether(ctx context.Context, reg *sessions.Registry, to registry.Row, all []News) error {
	if len(all) == 0 {
		return nil
	}
	m := mail.Message{To: to.Alias(), ID: all[0].Notice(), InReplyTo: all[0].Message.ID, Content: textOf(all)}
	if len(all) > 1 {
		type about struct {
			ID     string `json:"id"`
			Reason string `json:"reason"`
			Notice string `json:"notice"`
		}
		var list []about
		ids := []string{to.SID()}
		for _, n := range all {
			list, ids = append(list, about{n.Message.ID, n.statusReason(), n.Notice()}), append(ids, n.Notice())
			if n.Message.ID != m.InReplyTo {
				m.InReplyTo = ""
			}
		}
		value, err := json.Marshal(list)
		if err != nil {
			return err
		}
		slices.Sort(ids)
		m.ID, m.Extra = ID("together", ids...), []mail.Field{{Name: aboutField, Value: value}}
	}
	if sessions.CheckID(m.InReplyTo) != nil {
		m.InReplyTo = ""
	}
	return Send(ctx, reg, to.SID(), m, all[0].statusReason())
}

// statusReason returns the reason in the words that status uses.
func (n News) statusReason() string {
	if n.Reason == EndedUnanswered {
		return Ended
	}
	return n.Reason
}

// NoticesIn returns the ids of all single notices that a message of c2c contains.
func NoticesIn(m mail.Message) []string {
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

// textOf returns the text about all of them: one sentence for each receiver and reason.
func textOf(all []News) string {
	type kind struct{ to, reason, why string }
	groups, order := map[kind][]News{}, []kind{}
	for _, n := range all {
		k := kind{sessions.Fold(cmp.Or(n.Session.Alias, n.Message.To)), n.Reason, n.why}
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

// sentence describes news about one receiver with one reason.
func sentence(some []News) string {
	n := some[0]
	if len(some) == 1 {
		return n.text()
	}
	var names []string
	for _, one := range some {
		names = append(names, Describe(one.Message))
	}
	to, which := cmp.Or(n.Session.Alias, n.Message.To), strings.Join(names, ", ")
	switch n.Reason {
	case Unread:
		if _, host, ok := strings.Cut(to, "@"); ok {
			return fmt.Sprintf("%s has not confirmed your messages %s to %s, the oldest for %s. They wait here until that machine is there; c2c outbox tells more.", host, which, to, Span(UnreadAfter(n.Session, n.Message)))
		}
		return fmt.Sprintf("%s has not read your messages %s, the oldest for %s.%s They still wait; c2c outbox tells more.", to, which, Span(UnreadAfter(n.Session, n.Message)), unreadWhy(n.Session))
	case Refused:
		return fmt.Sprintf("The person of %s has its client refuse messages from other sessions, so your messages %s wait for its next turn.", to, which)
	case Ended:
		return fmt.Sprintf("The session of %s has ended without reading your messages %s. It gets them when it is started again; c2c handover %[1]s NAME gives its mail to another session.", to, which)
	case EndedUnanswered:
		return fmt.Sprintf("The session of %s has ended without an answer to your messages %s. It is reminded when it is started again; until then, ask another session.", to, which)
	case Expired:
		if _, host, ok := strings.Cut(to, "@"); ok {
			return fmt.Sprintf("%s has not confirmed your messages %s to %s in time. They have expired and are not handed over any more; send them again if they still matter.", host, which, to)
		}
		return fmt.Sprintf("%s did not read your messages %s in time. They have expired and are not handed over any more; send them again if they still matter.", to, which)
	case Unanswered:
		return fmt.Sprintf("%s has not answered your messages %s in time; c2c status ID tells whether one was read.", to, which)
	}
	if n.why != "" {
		return fmt.Sprintf("Your messages %s to %s cannot be handed over: %s. c2c dead-letter shows them.", which, to, n.why)
	}
	return fmt.Sprintf("Nobody has read your messages %s to %s, and that session is gone for long. c2c dead-letter shows the messages.", which, to)
}

// text describes this news alone.
func (n News) text() string {
	switch n.Reason {
	case Unread:
		return textUnread(n.Session, n.Message, UnreadAfter(n.Session, n.Message))
	case Refused:
		return textRefused(n.Session, n.Message)
	case Ended:
		return textEnded(n.Session, n.Message)
	case EndedUnanswered:
		return textEndedUnanswered(n.Session, n.Message)
	case Expired:
		return textExpired(n.Message)
	case Unanswered:
		return TextUnanswered(n.Message)
	}
	return textDead(n.Message, n.why)
}
