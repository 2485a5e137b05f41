package senders

import (
	"cmp"
	"time"

	"c2c/inbox/mail"
)

// Listed is a sender as c2c shows it to a person, without its key or secret.
type Listed struct {
	Name       string    `json:"name"`
	Root       string    `json:"root"`
	To         []string  `json:"to"`
	Scheme     string    `json:"scheme"` // token, github, standard
	Bridge     bool      `json:"bridge,omitempty"`
	Identities []string  `json:"identities,omitempty"`
	Verdicts   bool      `json:"verdicts,omitempty"`
	Created    time.Time `json:"created"`
	LastUsed   string    `json:"last_used_day,omitempty"`
	Waiting    []Knocked `json:"waiting,omitempty"` // codes that wait for a person's approval
}

// Listed returns the senders as c2c shows them, in the order of their Allow calls.
func (l *List) Listed() (rows []Listed, err error) {
	all, err := l.All()
	if err != nil {
		return nil, err
	}
	waiting, err := l.Waiting()
	if err != nil {
		return nil, err
	}
	rows = []Listed{}
	for _, s := range all {
		r := Listed{Name: s.Name, Root: s.Root, To: s.To, Scheme: cmp.Or(s.Scheme, "token"), Bridge: s.Bridge, Identities: s.Identities,
			Verdicts: s.Verdicts, Created: mail.FromSeconds(s.Created).UTC(), LastUsed: s.LastUsed}
		for _, k := range waiting {
			if k.Bridge == s.Name {
				r.Waiting = append(r.Waiting, k)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}
