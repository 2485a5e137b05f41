package broker

import (
	"context"
	"encoding/json"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

// The JSON that commands print and tools answer. The fields of the original come first.

// MarshalJSON writes a receipt.
func (r Receipt) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Queued    bool    `json:"queued"`
		TS        float64 `json:"ts"`
		From      string  `json:"from_alias"`
		To        string  `json:"to_alias"`
		ID        string  `json:"message_id"`
		Recipient State   `json:"recipient"`
		Duplicate bool    `json:"duplicate,omitempty"`
	}{true, inbox.Seconds(r.TS), r.From, r.To, r.ID, r.Recipient, r.Duplicate})
}

// MarshalJSON writes a status.
func (s MessageStatus) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string          `json:"message_id"`
		State     string          `json:"state"`
		At        time.Time       `json:"at"`
		By        string          `json:"by,omitempty"`
		SessionID string          `json:"session_id"`
		From      string          `json:"from_alias"`
		To        string          `json:"to_alias"`
		LastRing  wake.Ring       `json:"last_ring,omitzero"`
		Others    []MessageStatus `json:"others,omitempty"`
	}{s.ID, s.State, s.At.UTC(), s.By, s.SessionID, s.From, s.To, s.LastRing, s.Others})
}

// MarshalJSON writes what a sweep has done.
func (s Swept) MarshalJSON() ([]byte, error) {
	gone := []map[string]string{}
	for _, g := range s.Sessions {
		gone = append(gone, map[string]string{"session_id": g.ID, "alias": g.Alias})
	}
	return json.Marshal(struct {
		Dropped   []map[string]string `json:"dropped_regs"`
		Deleted   int                 `json:"deleted_inboxes"`
		Preserved int                 `json:"preserved_messages"`
		Mailboxes []SweptMailbox      `json:"mailboxes,omitempty"`
	}{gone, len(gone), s.Messages, s.Mailboxes})
}

// Listed is a session as a list shows it.
type Listed struct {
	ID         string    `json:"session_id"`
	Alias      string    `json:"alias"`
	PID        int       `json:"pid,omitempty"`
	Alive      *bool     `json:"alive"` // null: not known
	Registered float64   `json:"registered_at,omitempty"`
	Client     string    `json:"client,omitempty"`
	Role       string    `json:"role,omitempty"`
	State      State     `json:"state"`
	Waiting    bool      `json:"waiting"`
	LastRing   wake.Ring `json:"last_ring,omitzero"`
	Error      string    `json:"error,omitempty"` // why its mailbox cannot be looked into
}

// List gives all sessions, and whether mail waits for them.
func (b *Broker) List(ctx context.Context) ([]Listed, error) {
	sessions, err := b.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	used, err := inbox.Sessions(b.root)
	if err != nil {
		return nil, err
	}
	rows := []Listed{}
	for _, s := range sessions {
		waits := false
		if used[s.ID] {
			waits, err = b.waits(s.ID)
		}
		waits = waits || s.MailToCome()
		row := Listed{ID: s.ID, Alias: s.Alias, PID: s.PID, Client: s.Client, Role: s.Role,
			State: s.Presence(waits), Waiting: waits, LastRing: s.LastRing}
		if !s.Registered.IsZero() {
			row.Registered = inbox.Seconds(s.Registered)
		}
		if s.State == Alive || s.State == Absent {
			alive := s.State == Alive
			row.Alive = &alive
		}
		if err != nil {
			row.Error, err = err.Error(), nil
		}
		rows = append(rows, row)
	}
	return rows, nil
}
