package page

import (
	"sort"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
)

// maxOwed bounds how many owed answers the page shows. It shows those that are due first.
const maxOwed = 100

// owedItem is an answer that a session waits for.
type owedItem struct {
	ID        string `json:"id"`
	Short     string `json:"short"`
	Kind      string `json:"kind"`
	From      string `json:"from"` // the session that waits
	To        string `json:"to"`   // the session that is to answer
	Mine      bool   `json:"mine"` // the person at the page is to answer
	Words     string `json:"words"`
	Late      bool   `json:"late"`
	Sent      int64  `json:"sent"`
	Due       int64  `json:"due"`
	Why       string `json:"why,omitempty"`
	Do        string `json:"do,omitempty"`
	Reminders int    `json:"reminders,omitempty"`
}

// owedList lists the owed answers; the one that is due first comes first.
type owedList struct {
	Owed []owedItem `json:"owed"`
	More int        `json:"more,omitempty"`
}

// owed returns the answers that any session owes.
func (p *Page) owed(c *call) (any, error) {
	me, err := c.me()
	if err != nil {
		return nil, err
	}
	all, err := broker.Obligations(c, c.b().Registry, me, false)
	if err != nil {
		return nil, err
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Due.Before(all[j].Due) })
	l := owedList{Owed: []owedItem{}, More: max(0, len(all)-maxOwed)}
	for _, o := range all[:min(len(all), maxOwed)] {
		l.Owed = append(l.Owed, owedItem{ID: o.ID, Short: visible(mail.ShortID(o.ID)), Kind: visible(o.Kind), From: visible(o.From), To: visible(o.To), Mine: o.SessionID == me.ID,
			Words: visible(o.Words), Late: o.State == owed.Overdue, Sent: milli(o.SentAt), Due: milli(o.Due), Why: visible(o.Why), Do: visible(o.Do), Reminders: o.Reminders})
	}
	return l, nil
}
