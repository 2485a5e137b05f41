package sessions

import (
	"path/filepath"
	"strings"
	"time"

	"c2c/client"
	"c2c/format"
	"c2c/sessions/locks"
	"c2c/wake"
)

// What a session does now. Those of State that say no more (Absent, Person, External, Unknown) are such words, too, and Alive is
// a session whose client lives, and nothing tells whether a turn runs.
const (
	Busy    State = client.Busy
	Idle    State = client.Idle
	Waiting State = client.Waiting
	Away    State = "away" // its client lives, and shows it in no terminal
)

// How it is known what a session does.
const (
	ByProcess = "process" // its process, or that of its server, runs or has ended
	ByRecord  = "record"  // a file that its client writes
	ByRing    = "ring"    // the last ring found it so, or has begun a turn
)

// ByHook names a client's hook as a reader and as a method.
const ByHook = "hook"

// Now is what a session does now. Only what something tells is said.
type Now struct {
	Does  State     `json:"does"`
	Since time.Time `json:"since,omitzero"`     // UTC; zero: not known
	Known string    `json:"known_by,omitempty"` // ByProcess, ByRecord, ByHook, ByPlugin, …
	// Dir is the client's directory in which files change when this does, if there is one.
	Dir string `json:"-"`
}

// Now finds out what a session does. waits says that mail waits for it: a ring for it may have found the session away.
func (look Prober) Now(s Session, waits bool) Now {
	if s.State != Alive {
		return Now{Does: s.State, Known: knownBy(s.State)}
	}
	if ring := s.LastRing; waits && ring.Outcome == wake.Away {
		return Now{Does: Away, Since: ring.At.UTC(), Known: ByRing}
	}
	if p, _ := client.Find(s.Client); p.Doing != nil && s.Process != 0 {
		config, _ := p.Config(Environment(look.processes.Environ(s.Process)))
		if said := p.Doing(config, s.Process, s.ClientID()); said.Word != "" {
			now := Now{Does: State(said.Word), Since: utc(said.Since), Known: ByRecord}
			if p.DoingDir != "" {
				now.Dir = filepath.Join(config, p.DoingDir)
			}
			return now
		}
	}
	if s.Turn == "" || s.followed() && !look.held(locks.RingLock(s.ID)) { // the process that would tell has ended
		return Now{Does: Alive, Known: ByProcess}
	}
	return Now{Does: s.Turn, Since: s.Facts.TurnAt, Known: s.Facts.TurnBy}
}

// followed says whether it is a ringer that hears from the session's client what it does.
func (s Session) followed() bool {
	return s.Facts.TurnBy == wake.ByServer || s.Facts.TurnBy == wake.ByPlugin
}

// ToldByHooks says whether a session's hooks tell what it does.
func (s Session) ToldByHooks() bool { return s.Turn != "" && !s.followed() }

// turns are the words for what a session does that its facts have.
var turns = format.Pairs{{string(Busy), "runs"}, {string(Idle), "over"}, {string(Waiting), "asks"}}

func turnOf(word string) State {
	for _, row := range turns {
		if row[1] == word {
			return State(row[0])
		}
	}
	return ""
}

func knownBy(s State) string {
	if s == Absent {
		return ByProcess
	}
	return ""
}

// Environment gives the variables of a list as NAME=value.
func Environment(list []string) func(string) string {
	return func(name string) string {
		for _, v := range list {
			if value, ok := strings.CutPrefix(v, name+"="); ok && name != "" {
				return value
			}
		}
		return ""
	}
}
