package broker

import (
	"context"
	"errors"
	"time"

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
	State      State     `json:"state"` // Alive, Away, Absent, Person or Unknown
	Now        Now       `json:"now"`
	Waiting    bool      `json:"waiting"`
	Count      int       `json:"waiting_count,omitempty"` // messages that wait
	Oldest     time.Time `json:"oldest_at,omitzero"`
	LastRead   time.Time `json:"last_read_at,omitzero"` // when it was handed mail last
	Quiet      bool      `json:"dnd,omitempty"`
	LastRing   wake.Ring `json:"last_ring,omitzero"`
	Error      string    `json:"error,omitempty"` // why its mailbox cannot be looked into
}

// List gives all sessions: what they do now, and what waits for them.
func (b *Broker) List(ctx context.Context) ([]Listed, error) {
	look := b.lookOnce()
	sessions, err := b.sessions(ctx, look)
	if err != nil {
		return nil, err
	}
	used, err := inbox.Sessions(b.root)
	if err != nil {
		return nil, err
	}
	rows := []Listed{}
	for _, s := range sessions {
		rows = append(rows, b.listed(s, used[s.ID], look))
	}
	return rows, nil
}

// listed is a session in a list. used says whether it has a mailbox.
func (b *Broker) listed(s Session, used bool, look looks) Listed {
	row := Listed{ID: s.ID, Alias: s.Alias, PID: s.PID, Client: s.Client, Role: s.Role, Registered: inbox.Seconds(s.Registered),
		State: s.State, Quiet: s.Quiet, LastRing: s.LastRing}
	if used {
		if err := b.addMail(&row); err != nil {
			row.Error = err.Error()
		}
	}
	row.Waiting = row.Count > 0 || s.HasMailToMove()
	if row.Now = b.nowOf(s, row.Waiting, look); row.Now.Does == Away {
		row.State = Away
	}
	if s.State == Alive || s.State == Absent {
		alive := s.State == Alive
		row.Alive = &alive
	}
	return row
}

func (b *Broker) addMail(row *Listed) error {
	box, err := b.Mailbox(row.ID)
	if err != nil {
		return err
	}
	waits, err := box.Backlog()
	read, rerr := box.LastRead()
	row.Count, row.Oldest, row.LastRead = waits.Count, utc(waits.Oldest), utc(read)
	return errors.Join(err, rerr)
}

// utc leaves the zero time what it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
