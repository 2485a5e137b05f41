package broker

import (
	"context"

	"c2c/inbox"
	"c2c/wake"
)

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
		waits = waits || s.HasMailToMove()
		row := Listed{ID: s.ID, Alias: s.Alias, PID: s.PID, Client: s.Client, Role: s.Role,
			Registered: inbox.Seconds(s.Registered), State: s.presence(waits), Waiting: waits, LastRing: s.LastRing}
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
