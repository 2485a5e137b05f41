package sessions

import (
	"cmp"
	"context"
	"time"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/sessions/facts"
	"c2c/sessions/registry"
	"c2c/wake"
)

// State is what we know about a session's client.
type State string

// States. Person is somebody at a terminal; a person has no process. For External see outsiders.go. Unknown is a session without
// a known process, or with one that cannot be seen from here: it may be alive, so it gets mail, and nobody may take its alias or
// its mail.
const (
	Alive   State = "alive"
	Absent  State = "absent"
	Person  State = "person"
	Unknown State = "unknown"
)

// Session is a mailbox and who it belongs to.
type Session struct {
	ID    string
	Alias string
	// Client is the AI program's name, or empty.
	Client string
	// ClientIDs are the client's own ids of this session, newest last.
	ClientIDs []string
	// PID is the process id in the registry. Another process may have that id by now.
	PID int
	// Process is PID if that process is the session's, and 0 otherwise.
	Process    int
	State      State
	Registered time.Time
	Role       string    // what it says it does
	Quiet      bool      // do not disturb: its mail waits for its next turn and rings nobody
	Pane       string    // the pane of a multiplexer that its person lets c2c type into, see wake/mux
	Turn       State     // Busy, Idle or Waiting, as it was told last; empty: nobody tells
	Unattended bool      // its person wants it woken when no terminal shows it
	Started    bool      // c2c start has made it, and no session of its client has it yet
	LastRing   wake.Ring // zero when it was never rung

	Facts facts.Facts `json:"-"`
}

// ClientID is the client's own id of this session, or empty.
func (s Session) ClientID() string {
	if n := len(s.ClientIDs); n > 0 {
		return s.ClientIDs[n-1]
	}
	return ""
}

// Conversation is the one of several in its process in which its person has written last, or empty: its hooks do not tell.
func (s Session) Conversation() string { return s.Facts.Conversation }

// HasMod says whether a mod or plugin of ours was seen in the process that the session has now.
func (s Session) HasMod() bool {
	// Of a process that the original has registered the facts tell no start time.
	return s.Process != 0 && s.Facts.ModStart != 0 && s.Facts.ModStart == s.Facts.StartTime
}

// Unseen are the ids of messages that its client has given to the model, and has not shown to its person yet.
func (s Session) Unseen() []string { return s.Facts.Unseen }

// HasMailToMove says whether mail of another session, or a dead letter, is still to be moved to it. Attach moves it.
func (s Session) HasMailToMove() bool { return len(s.Facts.MoveFrom) > 0 }

// Sessions lists every registered session, in the registry's order.
func (reg *Registry) Sessions(ctx context.Context) ([]Session, error) {
	there, err := reg.root.NameSet()
	if err != nil {
		return nil, err
	}
	return reg.sessions(ctx, reg.probeOnce(there))
}

func (reg *Registry) sessions(ctx context.Context, look Prober) ([]Session, error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	held := reg.Facts.Hold()
	defer held.Release()
	list := make([]Session, 0, len(rows))
	for _, r := range rows {
		list = append(list, reg.sessionWith(r, held.Of(r.SID()), look))
	}
	return list, nil
}

func (reg *Registry) Session(r registry.Row) Session {
	return reg.sessionWith(r, reg.Facts.Of(r.SID()), reg.Prober())
}

// sessionWith makes the session of a row.
func (reg *Registry) sessionWith(r registry.Row, f facts.Facts, look Prober) Session {
	s := Session{
		ID:         r.SID(),
		Alias:      r.Alias(),
		Client:     client.Name(cmp.Or(f.Client, r.Text("client_type"))),
		ClientIDs:  f.ClientIDs,
		PID:        int(r.Integer("pid")),
		Registered: mail.FromSeconds(r.Number("registered_at")),
		Role:       r.Text("role"),
		Quiet:      isQuiet(r, reg.Now()),
		Pane:       f.Pane,
		Turn:       turnOf(f.Turn),
		Unattended: f.Unattended,
		Started:    f.Started,
		LastRing:   f.LastRing,
		Facts:      f,
	}
	look.setState(&s, r)
	return s
}

// OverHTTP says whether its client reaches c2c over HTTP.
func (s Session) OverHTTP() bool { return s.Facts.Transport == TransportHTTP }
