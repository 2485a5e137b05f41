package outside

import (
	"cmp"
	"encoding/json"
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
	Refused    *Refusal  `json:"last_refusal,omitempty"` // the last one of all, if it was of this sender
}

// Refusal is a request from outside whose sender has not proven itself, or was written by a person
// whom nobody has allowed to write through the bridge. The sender is what the request says; it may
// be empty.
type Refusal struct {
	At     time.Time `json:"at"`
	Sender string    `json:"sender,omitempty"`
	Scheme string    `json:"scheme"`
	Why    string    `json:"why"`
}

// refusedFile has the last Refusal.
const refusedFile = "refused.json"

// Refuse keeps a refusal, and forgets the one before.
func (l *SenderList) Refuse(r Refusal) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return l.dir.Write(refusedFile, append(data, '\n'))
}

// Refused returns the last refusal; zero if there was none.
func (l *SenderList) Refused() (r Refusal) {
	if data, err := l.dir.ReadMost(refusedFile, maxList); err != nil || json.Unmarshal(data, &r) != nil {
		return Refusal{} // a damaged file is replaced by the next refusal
	}
	return r
}

// Listed returns the senders as c2c shows them, in the order of their Allow calls.
func (l *SenderList) Listed() (rows []Listed, err error) {
	all, err := l.All()
	if err != nil {
		return nil, err
	}
	rows = []Listed{}
	refused := l.Refused()
	for _, s := range all {
		r := Listed{Name: s.Name, Root: s.Root, To: s.To, Scheme: cmp.Or(s.Scheme, "token"), Bridge: s.Bridge, Identities: s.Identities,
			Verdicts: s.Verdicts, Created: mail.FromSeconds(s.Created).UTC(), LastUsed: s.LastUsed}
		if refused.Sender == s.Name {
			r.Refused = &refused
		}
		rows = append(rows, r)
	}
	return rows, nil
}
