package sessions

import (
	"time"

	"c2c/client"
	"c2c/wake"
)

// State is what is known about a session's client.
type State string

// Values of State. Person stands for a person at a terminal, who has no process. Unknown stands for
// a session without a known process, or with a process that c2c cannot see. Such a session may be
// alive, so it gets mail, and no other session may take its alias or mail.
const (
	Alive   State = "alive"
	Absent  State = "absent"
	Person  State = "person"
	Unknown State = "unknown"
)

// External is the state of a session that stands for an external sender: a program or person
// outside c2c that writes over HTTP. Its mailbox holds the answers to it, and no local session can
// act as it.
const External State = "external"

// Remote is the state of a session on another machine. Mail for it waits in the outbox for that
// machine.
const Remote State = "remote"

// More values of State, only for Facts.Turn and Now.Does. Now.Does may also be Absent, Person, External, Remote or
// Unknown. If it is Alive, the client lives, but c2c does not know whether a turn runs.
const (
	Busy    State = client.Busy
	Idle    State = client.Idle
	Waiting State = client.Waiting
	Away    State = client.Away
)

// Values of Now.Known: by what c2c knows what a session does.
const (
	ByProcess = "process" // its process, or the process of its server, runs or has ended
	ByRecord  = "record"  // a file that its client writes
	ByRing    = "ring"    // the last ring has shown this, or has begun a turn
)

// Now says what a session does now, as far as c2c knows.
type Now struct {
	Does  State     `json:"does"`
	Since time.Time `json:"since,omitzero"`     // UTC; zero: not known
	Known string    `json:"known_by,omitempty"` // ByProcess, ByRecord, inbox.ByHook, ByPlugin, …
	// Background says that no turn runs, but something that the model has started in the
	// background, as far as its client records that.
	Background bool `json:"background,omitempty"`
	// Dir is a directory of the client whose files change when Does changes; "" if there is none.
	Dir string `json:"-"`
}

// followed reports whether a process that rings the session follows its state through the client's
// server or plugin.
func (s Session) followed() bool {
	return wake.AboutMethod(s.Facts.TurnBy).Follows
}

// ToldByHooks reports whether a session's hooks report what it does.
func (s Session) ToldByHooks() bool { return s.Turn != "" && !s.followed() }
