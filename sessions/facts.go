// This part keeps what c2c knows about each session (a conversation with an AI program) and what
// has no field in registry.json, the list of sessions: one file for each session. The package also
// keeps an index of the clients' own session ids.

package sessions

import (
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/wake"
)

// Facts is the content of sessions/<sid>.json. It is not in the registry, so that a change of one
// session rewrites only a small file.
type Facts struct {
	Alias string `json:"alias,omitempty"` // the last alias; a session that comes back after a sweep gets it again, if it is free
	// AliasSince is the time when the session chose its alias, in Unix seconds. A session that
	// takes over the alias and the mail of another session takes over its AliasSince, too. 0: not
	// known.
	AliasSince float64 `json:"alias_since,omitempty"`
	// Former are the session's earlier aliases, oldest first. They are needed so that answers to
	// its earlier messages still reach it.
	Former    []former `json:"former_aliases,omitempty"`
	Client    string   `json:"client,omitempty"`
	ClientIDs []string `json:"client_ids,omitempty"` // the client's own ids of this session, newest last
	// The session's process has the id PID in the PID namespace Namespace, and started at
	// StartTime. A person has only a namespace.
	PID       int    `json:"pid,omitempty"`
	StartTime int64  `json:"pid_start_time,omitempty"`
	Namespace string `json:"pid_namespace,omitempty"`
	Started   bool   `json:"started,omitempty"`  // c2c start made this session, and its client has not reported its own id for it yet
	Named     bool   `json:"named,omitempty"`    // its alias was chosen, or the alias from the configuration was tried already
	Proposed  bool   `json:"proposed,omitempty"` // its alias comes from a project's file
	// The process RingerPID, which started at RingerStart, rings the process PID as long as both
	// run; see Session.HasBell.
	RingerPID   int       `json:"ringer_pid,omitempty"`
	RingerStart int64     `json:"ringer_start,omitempty"`
	Pane        string    `json:"pane,omitempty"`       // the pane of a multiplexer into which its user lets c2c type, see wake/terminal
	LastRing    wake.Ring `json:"last_ring,omitzero"`   // zero if it was never rung
	Role        string    `json:"role,omitempty"`       // the session's own description of its work
	Quiet       bool      `json:"dnd,omitempty"`        // do not disturb: mail waits for its next turn, and c2c does not ring
	Unattended  bool      `json:"unattended,omitempty"` // its user wants it woken even if no terminal shows it
	// Turn is what the session does, as last reported: Busy, Idle, Waiting or Away; "": not reported.
	// TurnAt: since then, and in the present process. TurnBy: who reported it.
	Turn   State     `json:"turn,omitempty"`
	TurnAt time.Time `json:"turn_at,omitzero"`
	TurnBy string    `json:"turn_by,omitempty"`
	// Failure is the reason why the session's model gave no answer at the time FailedAt; see
	// SawFailure.
	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	// Transport is the transport of the session's latest tool calls. It was different before
	// TransportAt.
	Transport   string    `json:"transport,omitempty"`
	TransportAt time.Time `json:"transport_at,omitzero"`
	// Conversation is the client's id of the conversation to which the session's user wrote last,
	// because a client's process may have several conversations; "" if the hooks do not report it.
	Conversation string `json:"conversation,omitempty"`
	// ModStart is the StartTime of the last process of the session in which c2c saw a mod or plugin
	// of ours.
	ModStart int64 `json:"mod_start_time,omitempty"`
	// Unseen are the ids of messages that the client has given to the model, but not shown to the
	// user yet.
	Unseen []string `json:"unseen,omitempty"`
	// Left is the client's id of the conversation that the session has left, for example by /clear.
	// What it was handed and has not read is put back, and then Left is empty.
	Left string `json:"left,omitempty"`
	// PutBack is a time in Unix seconds. All that the session was handed until then, and has not
	// read, was put back.
	PutBack float64 `json:"put_back,omitempty"`
	// MoveFrom are the sessions whose mail must be moved to this session; the session's own id
	// stands for its dead letters. MoveFrom is written before the registry changes, and removed
	// after the mail has moved. So after a crash, the next Broker.Attach moves the mail.
	MoveFrom []string `json:"move_from,omitempty"`

	// StartedBy is the id of the session whose client has started the process PID; "": no session's
	// client, or c2c has not seen it.
	StartedBy string `json:"started_by,omitempty"`
	// InRooms means that the session is in a room: then the file <sid>.rooms says how far it has
	// read in each room.
	InRooms bool `json:"in_rooms,omitempty"`

	// TookOver is the id of the session whose alias and mail this session took over last.
	TookOver string `json:"took_over,omitempty"`

	// Lacks is what the process PID lacks because c2c start could not set c2c up in it.
	Lacks string `json:"lacks,omitempty"`

	stored bool // the session has a file
	others Row  // the fields that only a newer c2c knows; a server of an older one may run for weeks
}

// former is an alias that a session had.
type former struct {
	Alias string  `json:"alias"`
	Until float64 `json:"until"` // Unix seconds
}

// maxFormer bounds Former.
const maxFormer = 16

// Rename gives the session an alias, and records the old one, even if only the case differs,
// because files keep the old spelling.
func (f *Facts) Rename(alias string, now time.Time) {
	if f.Alias != "" && f.Alias != alias {
		f.Former = append(f.Former, former{f.Alias, mail.Seconds(now)})
		f.Former = f.Former[max(0, len(f.Former)-maxFormer):]
	}
	f.Alias = alias
}

// maxClientIDs bounds ClientIDs, because each /clear adds an id. The index keeps all ids.
const maxClientIDs = 16

// AddClientID adds a client's id at the end of ClientIDs, or moves it there.
func (f *Facts) AddClientID(id string) {
	ids := append(slices.DeleteFunc(slices.Clone(f.ClientIDs), func(s string) bool { return s == id }), id)
	f.ClientIDs = ids[max(0, len(ids)-maxClientIDs):]
}

// HasLeft reports whether the session has left the conversation with this client's id.
func (f *Facts) HasLeft(id string) bool {
	i := slices.Index(f.ClientIDs, id)
	return i >= 0 && i < len(f.ClientIDs)-1
}

// AddMissing appends to sids each id of added that sids does not have yet.
func AddMissing(sids []string, added ...string) []string {
	for _, sid := range added {
		if !slices.Contains(sids, sid) {
			sids = append(sids, sid)
		}
	}
	return sids
}

// OnDisk reports whether the session has a file of facts.
func (f Facts) OnDisk() bool { return f.stored }

// Join adds the facts that another root has about the same session: all facts if this root has
// none, otherwise only ClientIDs and MoveFrom.
func (f *Facts) Join(other Facts) {
	if !f.stored {
		*f = other
		return
	}
	ids := slices.DeleteFunc(slices.Clone(other.ClientIDs), func(id string) bool { return slices.Contains(f.ClientIDs, id) })
	ids = append(ids, f.ClientIDs...)
	f.ClientIDs = ids[max(0, len(ids)-maxClientIDs):]
	f.MoveFrom = AddMissing(f.MoveFrom, other.MoveFrom...)
	f.PutBack = max(f.PutBack, other.PutBack)
}
