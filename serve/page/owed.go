package page

import (
	"errors"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// maxOwed bounds how many owed answers, and how many pairs of sessions, the page shows.
const maxOwed = 100

// owedItem is an answer that a session waits for.
type owedItem struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	From      string `json:"from"` // the session that waits
	To        string `json:"to"`   // the session that is to answer
	Words     string `json:"words"`
	Late      bool   `json:"late"`
	Sent      int64  `json:"sent"`
	Due       int64  `json:"due"`
	Why       string `json:"why,omitempty"`
	Do        string `json:"do,omitempty"`
	Reminders int    `json:"reminders,omitempty"`
}

func owedItemOf(o broker.Obligation) owedItem {
	return owedItem{ID: o.ID, Kind: visible(o.Kind), From: visible(o.From), To: visible(o.To), Words: visible(o.Words), Late: o.State == owed.Overdue,
		Sent: milli(o.SentAt), Due: milli(o.Due), Why: visible(o.Why), Do: visible(o.Do), Reminders: o.Reminders}
}

// wait is a session that waits for answers of another one.
type wait struct {
	owedItem      // the question that was sent first
	Count    int  `json:"count"`
	Overdue  int  `json:"overdue,omitempty"`
	Circle   bool `json:"circle,omitempty"`
}

// owedList has the answers that the person owes, the one that is due first comes first; and who
// waits for whom, the longest wait first.
type owedList struct {
	Mine      []owedItem `json:"mine"`
	MoreMine  int        `json:"more_mine,omitempty"`
	Waits     []wait     `json:"waits"`
	MoreWaits int        `json:"more_waits,omitempty"`
}

// owed returns the answers that sessions owe.
func (p *Page) owed(c *call) (any, error) {
	me, err := c.me()
	if errors.Is(err, sessions.ErrNoSession) {
		me, err = sessions.Session{State: sessions.Person, KnownBy: mail.ByPerson}, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := broker.Obligations(c, c.b().Registry, me, false)
	if err != nil {
		return nil, err
	}
	l := owedList{Mine: []owedItem{}, Waits: []wait{}}
	for _, o := range all {
		if o.SessionID != me.ID {
			continue
		}
		if len(l.Mine) < maxOwed {
			l.Mine = append(l.Mine, owedItemOf(o))
		} else {
			l.MoreMine++
		}
	}
	waits, more := broker.WhoWaits(all, maxOwed)
	l.MoreWaits = more
	for _, w := range waits {
		l.Waits = append(l.Waits, wait{owedItemOf(w.Oldest), w.Count, w.Overdue, w.Circle})
	}
	return l, nil
}
