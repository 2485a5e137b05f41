package owed

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// c2c collects news for a sender: one notice names several messages, also to different receivers. After a notice, the sender gets no
// further one for TellGap or longer (GapOf), unless it has set a time itself, a receiver has ended without reading the message, an answer has
// not come in time, or a message has become a dead letter or was not stored. A message that is read meanwhile is left out. An absent sender gets its notice when it is back.
const (
	TellGap = 2 * time.Hour
	// MaxNews is the maximum number of messages in one notice.
	MaxNews = 20
	// aboutField is the field of a notice about several messages. It has one entry for each message.
	aboutField = "about"
)

// News is something that c2c tells the sender of a message.
type News struct {
	Message mail.Message
	Session sessions.Session // the receiver; if it is empty, Message.To names the receiver
	Reason  string
	Why     string // why the message is a dead letter, or was not stored
}

// Notice returns the id of a notice about only this news. The reasons Ended and EndedUnanswered give the same id.
func (n News) Notice() string { return About(n.Message, n.statusReason()) }

// AtOnce reports whether the sender gets the notice even if it just got another one. This is so if the sender has set a time itself, or if
// the receiver has ended without reading the message.
func (n News) AtOnce() bool { return n.Message.TellAfter > 0 || kindOf(n.Reason).atOnce }

// GapOf returns the shortest time between the last notice to a sender and a notice with these news. If all news are about unread messages
// that ask for no answer, the time is twice as long, because the sender waits for nothing.
func NoticeGap(all []News) time.Duration {
	if slices.ContainsFunc(all, func(n News) bool { return n.Reason != Unread || n.Message.Owes() || n.Message.AnswerBy != 0 }) {
		return TellGap
	}
	return 2 * TellGap
}

// TellTogether puts one notice about all these news into the mailbox of a session. A second call with the same news has no effect.
func TellTogether(ctx context.Context, reg *sessions.Registry, to sessions.Row, all []News) error {
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
		m.ID, m.Extra = NoticeID("together", ids...), []mail.Field{{Name: aboutField, Value: value}}
	}
	if sessions.CheckID(m.InReplyTo) != nil {
		m.InReplyTo = ""
	}
	return SendNotice(ctx, reg, to.SID(), m, all[0].statusReason())
}

// statusReason returns the reason as c2c status shows it.
func (n News) statusReason() string { return cmp.Or(kindOf(n.Reason).status, n.Reason) }

// NoticesIn returns the id of the notice m. If m is about several messages, it also returns the ids of the single notices that m replaces.
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

// textOf returns the text about all news. It has one sentence for each receiver and reason.
func textOf(all []News) string {
	type kind struct{ to, reason, why string }
	groups, order := map[kind][]News{}, []kind{}
	for _, n := range all {
		k := kind{sessions.Fold(cmp.Or(n.Session.Alias, n.Message.To)), n.Reason, n.Why}
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
