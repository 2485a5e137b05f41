package sessions

import (
	"fmt"
	"time"

	"c2c/inbox/mail"
)

// Session is the owner of a mailbox. It stands for a conversation with an AI program, for a person,
// or for a sender outside; see State. Its alias, client and process are those that hold now, and
// may differ from those in its facts.
type Session struct {
	Facts
	ID         string
	Alias      string
	Client     string // the AI program's name, or empty
	PID        int    // the process id in the registry; another process may have the id by now
	Process    int    // PID if that is still the session's process, else 0
	State      State
	Registered time.Time
	Opening    bool // a window will open it after a dialog, see client.Profile.Opening

	// KnownBy says by what c2c recognized a caller as this session, such as its process; see
	// mail.Message. Only package callers sets it.
	KnownBy string
}

// ClientID returns the client's own id of this session, or empty.
func (s Session) ClientID() string {
	if n := len(s.ClientIDs); n > 0 {
		return s.ClientIDs[n-1]
	}
	return ""
}

// HasMod reports whether a mod or plugin of ours was seen in the process that the session has now.
func (s Session) HasMod() bool {
	return s.Process != 0 && s.Facts.ModStart != 0 && s.Facts.ModStart == s.Facts.StartTime
}

// HasBell reports whether a process has recorded that it rings the session's process. This is c2c
// start; or c2c's server, in a client that is otherwise rung only in its terminal
// (client.Profile.Typed). HasBell makes no system call, so it does not see whether the process
// still runs: Prober.HasBell sees that. An older c2c start records nothing.
func (s Session) HasBell() bool {
	return s.Facts.RingerPID != 0 && s.State == Alive && s.PID == s.Facts.PID
}

// IsProvenPerson reports whether the caller is a person, and c2c or the caller's machine has
// checked that: a program may only say so.
func (s Session) IsProvenPerson() bool {
	return s.State == Person && (s.KnownBy == mail.ByPerson || s.KnownBy == mail.ByHost)
}

// MayAct returns an error if the caller may not claim, release, answer or say that it is done in
// the name of this session. While c2c sees the session's client run, only a program below the
// client may. Over HTTP there may be nothing to see.
func (s Session) MayAct() error {
	if s.KnownBy != mail.ByClaim || s.Process == 0 || s.OverHTTP() {
		return nil
	}
	return fmt.Errorf("%s runs, and has not started this command: only %[1]s may do this in its own name (c2c send %[1]s asks for it)", s.Alias)
}

// HasMailToMove reports whether mail of another session or conversation, or a dead letter, must
// still be moved to this one. Broker.Attach moves it.
func (s Session) HasMailToMove() bool { return len(s.Facts.MoveFrom) > 0 || s.Facts.Left != "" }

// OverHTTP reports whether its client reaches c2c over HTTP.
func (s Session) OverHTTP() bool { return s.Transport == TransportHTTP }

// Transports: the ways by which the tools of a session reach c2c.
const (
	TransportStdio = "stdio" // an MCP server that its client has started
	TransportHTTP  = "http"  // the HTTP daemon
)
