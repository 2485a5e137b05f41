// Package facts stores facts about a session for which registry.json has no field: one file for each session, and an
// index of the clients' own session ids.
package facts

import (
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/wake"
)

// Facts is sessions/<sid>.json: facts for which the registry has no field. We cannot add fields to the registry, because the
// original drops fields that it does not know.
type Facts struct {
	Alias string `json:"alias,omitempty"` // the last alias, for a session that comes back after a sweep
	// AliasSince is when the session chose its alias, in Unix seconds. A session that takes over the alias and the mail of another
	// session takes over its AliasSince, too. 0: not known.
	AliasSince float64 `json:"alias_since,omitempty"`
	// Former are the session's earlier aliases, oldest first. With them, answers to its earlier messages still reach it.
	Former    []former `json:"former_aliases,omitempty"`
	Client    string   `json:"client,omitempty"`
	ClientIDs []string `json:"client_ids,omitempty"`
	// Namespace is the PID namespace of the process PID that started at StartTime. A person has a namespace and no process.
	PID       int       `json:"pid,omitempty"`
	StartTime int64     `json:"pid_start_time,omitempty"`
	Namespace string    `json:"pid_namespace,omitempty"`
	Started   bool      `json:"started,omitempty"`  // c2c start made this session, and its client has not reported a conversation yet
	Named     bool      `json:"named,omitempty"`    // its alias was chosen, or C2C_MCP_AUTO_REGISTER_ALIAS was tried already
	Proposed  bool      `json:"proposed,omitempty"` // its alias comes from a project's file
	Pane      string    `json:"pane,omitempty"`
	LastRing  wake.Ring `json:"last_ring,omitzero"`
	// Unattended: see Session.
	Unattended bool `json:"unattended,omitempty"`
	// Turn is the last reported state of the session's turn, since TurnAt; TurnBy is who reported it. Empty: none.
	Turn   string    `json:"turn,omitempty"`
	TurnAt time.Time `json:"turn_at,omitzero"`
	TurnBy string    `json:"turn_by,omitempty"`
	// Failure is why the session's model gave no answer, at FailedAt: see turns.SawFailure.
	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	// Transport is the transport of its latest tool calls, since TransportAt.
	Transport   string    `json:"transport,omitempty"`
	TransportAt time.Time `json:"transport_at,omitzero"`
	// Conversation: see Session.
	Conversation string `json:"conversation,omitempty"`
	// ModStart is StartTime of the last process in which a mod or plugin of ours was seen.
	ModStart int64 `json:"mod_start_time,omitempty"`
	// Unseen are the ids of messages that the client has given to the model, but not shown to the user yet.
	Unseen []string `json:"unseen,omitempty"`
	// Dropped are the ids of messages that the client has dropped with a failed request; c2c hands them over again.
	Dropped []string `json:"dropped,omitempty"`
	// MoveFrom are the sessions whose mail must be moved to this session; the session's own id stands for its dead letters. MoveFrom is
	// written before the registry changes, and removed after the mail has moved: after a crash the next Attach moves the mail.
	MoveFrom []string `json:"move_from,omitempty"`

	// StartedBy is the session whose client has started the process PID; empty: none, or c2c has not seen it.
	StartedBy string `json:"started_by,omitempty"`
	// InRooms means that the session is in a room: then the file <sid>.rooms says how far it has read in each room.
	InRooms bool `json:"in_rooms,omitempty"`

	// TookOver is the session whose alias and mail this session took over last.
	TookOver string `json:"took_over,omitempty"`

	stored bool // the session has a file
}

// former is an alias that a session had.
type former struct {
	Alias string  `json:"alias"`
	Until float64 `json:"until"` // Unix seconds
}

// maxFormer bounds Former.
const maxFormer = 16

// Rename gives the session an alias, and records the old one, even if only the case differs: files keep the old spelling.
func (f *Facts) Rename(alias string, now time.Time) {
	if f.Alias != "" && f.Alias != alias {
		f.Former = append(f.Former, former{f.Alias, mail.Seconds(now)})
		f.Former = f.Former[max(0, len(f.Former)-maxFormer):]
	}
	f.Alias = alias
}

// maxClientIDs bounds ClientIDs: each /clear adds an id. The index keeps all ids.
const maxClientIDs = 16

// AddClientID adds a client's id at the end of ClientIDs, or moves it there.
func (f *Facts) AddClientID(id string) {
	ids := append(slices.DeleteFunc(slices.Clone(f.ClientIDs), func(s string) bool { return s == id }), id)
	f.ClientIDs = ids[max(0, len(ids)-maxClientIDs):]
}

// AddMissing adds the sessions that the list does not have yet.
func AddMissing(sids []string, more ...string) []string {
	for _, sid := range more {
		if !slices.Contains(sids, sid) {
			sids = append(sids, sid)
		}
	}
	return sids
}

// OnDisk reports whether the session has a file of facts.
func (f Facts) OnDisk() bool { return f.stored }

// Join adds the facts that another root has about the same session.
func (f *Facts) Join(other Facts) {
	if !f.stored {
		*f = other
		return
	}
	ids := slices.DeleteFunc(slices.Clone(other.ClientIDs), func(id string) bool { return slices.Contains(f.ClientIDs, id) })
	ids = append(ids, f.ClientIDs...)
	f.ClientIDs = ids[max(0, len(ids)-maxClientIDs):]
	f.MoveFrom = AddMissing(f.MoveFrom, other.MoveFrom...)
}
