// Package facts stores facts about a session for which registry.json has no field: one file for each session, and an
// index of the clients' own session ids.
package facts

import (
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/wake"
)

// Facts is sessions/<sid>.json: what the registry has no field for. The original rewrites the registry
// without fields it does not know.
type Facts struct {
	Alias string `json:"alias,omitempty"` // for a session that comes back after a sweep
	// AliasSince is when the session chose its alias, in Unix seconds. A session that takes over the alias and the mail of
	// another one takes over this time, too. 0: not known.
	AliasSince float64 `json:"alias_since,omitempty"`
	// Former are the aliases that it had before, oldest first: answers to what it wrote then come here.
	Former    []former `json:"former_aliases,omitempty"`
	Client    string   `json:"client,omitempty"`
	ClientIDs []string `json:"client_ids,omitempty"`
	// Namespace is the PID namespace of the process PID that started at StartTime. A person has a namespace and no process.
	PID       int       `json:"pid,omitempty"`
	StartTime int64     `json:"pid_start_time,omitempty"`
	Namespace string    `json:"pid_namespace,omitempty"`
	Started   bool      `json:"started,omitempty"`  // by c2c start, and no session of the client has it yet
	Named     bool      `json:"named,omitempty"`    // its alias was chosen, or C2C_MCP_AUTO_REGISTER_ALIAS was tried
	Proposed  bool      `json:"proposed,omitempty"` // its alias is the word of a project's file
	Pane      string    `json:"pane,omitempty"`
	LastRing  wake.Ring `json:"last_ring,omitzero"`
	// Unattended: see Session.
	Unattended bool `json:"unattended,omitempty"`
	// Turn is what was told last of its turn, when it came to be so and by whom; empty: nothing.
	Turn   string    `json:"turn,omitempty"`
	TurnAt time.Time `json:"turn_at,omitzero"`
	TurnBy string    `json:"turn_by,omitempty"`
	// Failure is why its model gave no answer, since FailedAt: see SawFailure.
	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	// Transport is that of the last call of a tool, since TransportAt.
	Transport   string    `json:"transport,omitempty"`
	TransportAt time.Time `json:"transport_at,omitzero"`
	// Conversation: see Session.
	Conversation string `json:"conversation,omitempty"`
	// ModStart is StartTime of the last process in which a mod or plugin of ours was seen.
	ModStart int64 `json:"mod_start_time,omitempty"`
	// Unseen are the ids of messages that its client has given to the model, and has not shown to its person yet.
	Unseen []string `json:"unseen,omitempty"`
	// Dropped are the ids of messages that its client has dropped with a request that failed, and that come again.
	Dropped []string `json:"dropped,omitempty"`
	// MoveFrom are the sessions whose mail is to come here, its own id for the dead letters. It is written before
	// the registry changes hands and dropped when the mail is here: after a crash the next Attach brings it.
	MoveFrom []string `json:"move_from,omitempty"`

	// TookOver is the session whose alias and mail it was given last.
	TookOver string `json:"took_over,omitempty"`

	stored bool // there is a file
}

// former is an alias that a session had.
type former struct {
	Alias string  `json:"alias"`
	Until float64 `json:"until"` // Unix seconds
}

// maxFormer bounds the list of them.
const maxFormer = 16

// Rename gives the session an alias, and keeps the one that it had: in another case, too, since files have what was written.
func (f *Facts) Rename(alias string, now time.Time) {
	if f.Alias != "" && f.Alias != alias {
		f.Former = append(f.Former, former{f.Alias, mail.Seconds(now)})
		f.Former = f.Former[max(0, len(f.Former)-maxFormer):]
	}
	f.Alias = alias
}

// maxClientIDs bounds the list: each /clear adds one. The index keeps all of them.
const maxClientIDs = 16

// AddClientID puts an id of the client's last, once.
func (f *Facts) AddClientID(id string) {
	ids := append(slices.DeleteFunc(slices.Clone(f.ClientIDs), func(s string) bool { return s == id }), id)
	f.ClientIDs = ids[max(0, len(ids)-maxClientIDs):]
}

// AddMissing puts sessions that are not there yet into a list.
func AddMissing(sids []string, more ...string) []string {
	for _, sid := range more {
		if !slices.Contains(sids, sid) {
			sids = append(sids, sid)
		}
	}
	return sids
}

// OnDisk says whether the session has a file of facts.
func (f Facts) OnDisk() bool { return f.stored }

// Join adds the facts of the same session in another root.
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
