package owed

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// A sender gets one notice about all news for it, also about several receivers. After a notice it
// gets no other one for TellGap, or for twice as long if it waits for nothing. Two kinds of news do
// not wait: those whose time the sender has set, and those that the table says (kind.atOnce). A
// message that is read meanwhile is left out. An absent sender gets its notice when it is back.
const (
	TellGap = 2 * time.Hour
	// MaxNews is the maximum number of messages in one notice.
	MaxNews = 20
	// aboutField is the field of a notice about several messages. It has one entry for each
	// message.
	aboutField = "about"
	// maxRemembered bounds how many notices a Checker remembers as sent.
	maxRemembered = 10_000
)

// News is something that c2c tells the sender of a message.
type News struct {
	Message mail.Message
	Session sessions.Session // the receiver; if it is empty, Message.To names the receiver
	Reason  string
	Why     string // why the message is a dead letter, or was not stored
}

// Notice returns the id of a notice about only this news. The reasons Ended and EndedUnanswered
// give the same id.
func (n News) Notice() string { return About(n.Message, n.statusReason()) }

// AtOnce reports whether the sender gets the notice even if it just got another one.
func (n News) AtOnce() bool { return n.Message.TellAfter > 0 || kindOf(n.Reason).atOnce }

// statusReason returns the reason as c2c status shows it.
func (n News) statusReason() string { return cmp.Or(kindOf(n.Reason).status, n.Reason) }

// asksNothing reports whether the sender waits for nothing: a message that asks for no answer is
// unread.
func (n News) asksNothing() bool {
	return n.Reason == Unread && !n.Message.Owes() && n.Message.AnswerBy == 0
}

// bySender calls f for each sender that is registered, with all news for it.
func bySender(authors *sessions.Authors, all []News, f func(to sessions.Row, all []News)) {
	news, order := map[string][]News{}, []sessions.Row{}
	for _, n := range all {
		to := authors.Of(n.Message)
		if to == nil {
			continue
		}
		if news[to.SID()] == nil {
			order = append(order, to)
		}
		news[to.SID()] = append(news[to.SID()], n)
	}
	for _, to := range order {
		f(to, news[to.SID()])
	}
}

// TellSenders sends each sender one notice about all its messages, even if the sender has just got
// another notice. It only logs errors.
func TellSenders(ctx context.Context, reg *sessions.Registry, authors *sessions.Authors, all []News) {
	bySender(authors, all, func(to sessions.Row, all []News) {
		if err := TellTogether(ctx, reg, to, all); err != nil {
			reg.Log.Warn("a sender got no notice about its messages", "session", to.SID(), "err", err)
		}
	})
}

// tellNews tells the senders of messages what this look has found. It returns the time of the next
// notices.
func (c *Checker) tellNews(ctx context.Context) (next time.Time) {
	var all []News
	for _, r := range c.all {
		if mem := c.boxes[r.SID()]; mem != nil {
			all = append(all, mem.news...)
		}
		if mem := c.records[r.SID()]; mem != nil {
			all = append(all, mem.news...)
		}
	}
	all = slices.DeleteFunc(all, func(n News) bool { return c.wasTold(ctx, n) || c.isNeedless(n) })
	now := c.reg.Now()
	bySender(c.authors, all, func(to sessions.Row, all []News) {
		sid := to.SID()
		if c.look.Session(to).State == sessions.Absent { // when the sender comes back, the registry changes, and this causes a look
			return
		}
		last, gap := c.toldAt[sid], TellGap
		if !slices.ContainsFunc(all, func(n News) bool { return !n.asksNothing() }) {
			gap = 2 * TellGap
		}
		if again := last.Add(gap); !last.After(now) && again.After(now) && !slices.ContainsFunc(all, News.AtOnce) {
			next = sessions.Earlier(next, again)
			return
		}
		if len(all) > MaxNews {
			all, next = all[:MaxNews], sessions.Earlier(next, now.Add(TellGap))
		}
		again := c.try(ctx, "tell "+sid, "a sender got no notice about its messages", func() error {
			brief, end := context.WithTimeout(ctx, sessions.KeepWait) // a suspended process may hold the mailbox's lock for days
			defer end()
			return TellTogether(brief, c.reg, to, all)
		})
		if !again.IsZero() || ctx.Err() != nil {
			next = sessions.Earlier(next, again)
			return
		}
		c.toldAt[sid] = now
		for _, n := range all {
			c.told[n.Notice()] = true
		}
	})
	return next
}

// wasTold reports whether the sender has got this news, as far as c2c knows. In a root without a
// long-lived process, each command would otherwise send all notices again, with two syncs each.
func (c *Checker) wasTold(ctx context.Context, n News) bool {
	if len(c.told) > maxRemembered {
		clear(c.told)
		clear(c.asked)
	}
	to := c.authors.Of(n.Message)
	if to == nil || c.told[n.Notice()] || c.asked[to.SID()] {
		return to == nil || c.told[n.Notice()]
	}
	c.asked[to.SID()] = true
	box, err := c.reg.Mailbox(to.SID())
	if err != nil {
		return false
	}
	found, _ := box.Search(ctx, inbox.Query{ // if the search fails, the notice is sent again
		Holds: sessions.Holds(sessions.SystemAlias),
		Match: func(m mail.Message) bool { return m.From == sessions.SystemAlias }, Limit: OpenLook, Wait: sessions.KeepWait,
	})
	for _, f := range found {
		for _, id := range NoticesIn(f.Message) {
			c.told[id] = true
		}
		if at := f.Message.Time(); f.Message.Deferrable && at.After(c.toldAt[to.SID()]) && !at.After(c.reg.Now()) {
			c.toldAt[to.SID()] = at
		}
	}
	return c.told[n.Notice()]
}

// OpenLook bounds how many messages of a mailbox are read to find unanswered questions, and how
// many to find earlier notices.
const OpenLook = 200

// isNeedless reports whether a notice about an unread message is needless. If an earlier notice has
// said that the receiver refuses mail, or has ended, the sender knows already why it is unread.
func (c *Checker) isNeedless(n News) bool {
	return n.Reason == Unread && n.Message.TellAfter <= 0 && (c.told[About(n.Message, Refused)] || c.told[About(n.Message, Ended)])
}

// TellTogether puts one notice about all these news into the mailbox of a session. A second call
// with the same news has no effect.
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

// NoticesIn returns the id of the notice m. If m is about several messages, it also returns the ids
// of the single notices that m replaces.
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

// sentence returns the text about news with one reason about one receiver. The oldest news comes
// first in the argument.
func sentence(news []News) string {
	n := news[0]
	m, to := n.Message, cmp.Or(n.Session.Alias, n.Message.To)
	_, host, remote := strings.Cut(to, "@")
	k := kindOf(n.Reason)
	words := k.text
	switch {
	case remote && k.remote.one != "":
		words = k.remote
	case n.Why != "" && k.why.one != "":
		words = k.why
	}
	text := words.one
	if len(news) > 1 {
		text = words.several
	}
	var names []string
	for _, one := range news {
		names = append(names, DescribeMessage(one.Message))
	}
	since := func(end float64) string { return Span(mail.FromSeconds(end).Sub(m.Time())) }
	return strings.NewReplacer("{to}", to, "{host}", host, "{what}", strings.Join(names, ", "), "{id}", mail.ShortID(m.ID), "{why}", n.Why,
		"{unread}", Span(UnreadAfter(n.Session, m)), "{state}", unreadWhy(n.Session), "{lifetime}", since(m.ExpiresAt), "{answertime}", since(m.AnswerBy)).Replace(text)
}
