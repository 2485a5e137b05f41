package tools

import (
	"encoding/json"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
)

// receipt is what a model is told of a message that is stored: as little as it needs to go on.
type receipt struct {
	Queued    bool       `json:"queued"` // false: the text was "pass", so nothing was posted
	To        string     `json:"to_alias"`
	ID        string     `json:"message_id,omitempty"`
	StoredFor int        `json:"stored_for,omitempty"` // of a post, and of a message to all: for how many others
	Does      string     `json:"recipient,omitempty"`  // what the receiver does
	Wakes     shortNames `json:"wakes,omitzero"`       // these fields are those of rooms.Receipt
	Waits     shortNames `json:"waits,omitempty"`
	Tells     shortNames `json:"tells,omitempty"`
	Sends     shortNames `json:"sends,omitempty"`
	Muted     shortNames `json:"muted,omitempty"`
	Strangers shortNames `json:"not_members,omitempty"`
	Unknown   shortNames `json:"unknown,omitempty"`
	Skipped   shortNames `json:"skipped,omitempty"` // they did not get it
	Duplicate bool       `json:"duplicate,omitempty"`
	Held      bool       `json:"held,omitempty"`
	HeldUntil time.Time  `json:"held_until,omitzero"`
	Host      string     `json:"host,omitempty"` // it is on its way to that machine
	Note      string     `json:"note,omitempty"`
}

// shortNames are a list of names, or their number if there are more than maxNames.
type shortNames []string

const maxNames = 3

func (all shortNames) MarshalJSON() ([]byte, error) {
	if len(all) > maxNames {
		return json.Marshal(len(all))
	}
	return json.Marshal(append([]string{}, all...))
}

func mailReceipt(r broker.Receipt, err error) (receipt, error) {
	short := receipt{Queued: r.Queued, To: r.To, ID: mail.ShortID(r.ID), Does: string(r.Now.Does), Duplicate: r.Duplicate, Held: r.Held, HeldUntil: r.HeldUntil, Host: r.Host, Note: r.Note}
	switch r.Now.Does {
	case sessions.Absent, sessions.Away, sessions.Waiting, sessions.Busy, sessions.Person:
		if !r.Held && !r.Duplicate {
			short.Note = "" // what the receiver does says it
		}
	}
	return short, err
}

func postReceipt(r rooms.Receipt, err error) (receipt, error) {
	return receipt{Queued: !r.Passed, To: "#" + r.Room, ID: mail.ShortID(r.ID), StoredFor: r.StoredFor, Wakes: r.Wakes, Waits: r.Waits, Tells: r.Tells, Sends: r.Sends,
		Muted: r.Muted, Strangers: r.Strangers, Unknown: r.Unknown, Skipped: r.Skipped, Duplicate: r.Duplicate, Host: r.Host, Note: r.Note}, err
}

func allReceipt(sent []broker.Receipt, not []broker.Skipped) receipt {
	r := receipt{Queued: true, To: toAll, StoredFor: len(sent)}
	if len(sent) > 0 {
		r.ID = mail.ShortID(sent[0].ID) // all have it
	}
	for _, s := range not {
		r.Skipped = append(r.Skipped, s.Alias+": "+s.Reason)
	}
	return r
}
