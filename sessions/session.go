package sessions

import (
	"time"

	"c2c/sessions/facts"
	"c2c/wake"
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

// OverHTTP says whether its client reaches c2c over HTTP.
func (s Session) OverHTTP() bool { return s.Facts.Transport == TransportHTTP }

// Transport is how the tools of the session reached us at their last call: TransportHTTP, TransportStdio, or "".
func (s Session) Transport() string { return s.Facts.Transport }

// How the tools of a session reach us.
const (
	TransportStdio = "stdio" // a server that its client has started
	TransportHTTP  = "http"  // the HTTP daemon
)
