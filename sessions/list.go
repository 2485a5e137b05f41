package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/format"
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
	State      State     `json:"state"` // Alive, Away, Absent, Person, External or Unknown
	Now        Now       `json:"now"`
	Waiting    bool      `json:"waiting"`
	Count      int       `json:"waiting_count,omitempty"` // number of waiting messages
	Oldest     time.Time `json:"oldest_at,omitzero"`
	LastRead   time.Time `json:"last_read_at,omitzero"` // when c2c last handed mail to it
	Quiet      bool      `json:"dnd,omitempty"`
	LastRing   wake.Ring `json:"last_ring,omitzero"`
	Surface    string    `json:"surface_support,omitempty"` // SurfaceFull or SurfaceDegraded, if it is alive
	Note       string    `json:"note,omitempty"`            // RingerEnded or what it lacks, and what to do, if that is so
	Claims     []string  `json:"claims,omitempty"`          // its claims, see package claims
	StartedBy  string    `json:"started_by,omitempty"`      // the alias of the session that has started its client
	KnownBy    string    `json:"known_by,omitempty"`        // only for c2c whoami: the KnownBy of its messages, see mail.Message
	Error      string    `json:"error,omitempty"`           // why its mailbox cannot be read
	// Tokens is set only by AddTokens.
	Tokens client.Tokens `json:"tokens,omitzero"`

	process  int    // its client's
	clientID string // the client's id of it
}

// AtDialog reports whether the session stands at a dialog, which its person has to answer.
func (l Listed) AtDialog() bool { return l.Now.Does == Waiting }

// NeedsPerson reports whether a person has to do something: the session stands at a dialog, or is
// the person, for whom mail waits.
func (l Listed) NeedsPerson() bool { return l.AtDialog() || l.State == Person && l.Waiting }

// List returns all sessions, each with its present state and the mail that waits for it.
func (reg *Registry) List(ctx context.Context) ([]Listed, error) {
	there, err := reg.root.NameSet()
	if err != nil {
		return nil, err
	}
	all, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	boxes, err := inbox.OpenBacklogs(reg.root, there)
	if err != nil {
		return nil, err
	}
	defer boxes.Close()
	var claims map[string][]string
	if there[ClaimsFile] {
		if claims, err = claimed(reg.root); err != nil {
			reg.Log.Warn("claims are not listed", "err", err)
		}
	}
	look, held := reg.listProber(there), reg.Facts.Hold()
	defer held.Release()
	rows, aliases := make([]Listed, len(all)), make(map[string]string, len(all)) // by session id
	for i, r := range all {
		s := look.sessionWith(r, held.Of(r.SID()))
		rows[i], aliases[s.ID] = reg.listed(s, boxes, look), s.Alias
		rows[i].StartedBy = s.Facts.StartedBy // the id; its alias may come later
		if s.State != Absent {
			rows[i].Claims = claims[s.ID]
		}
	}
	for i := range rows {
		rows[i].StartedBy = aliases[rows[i].StartedBy]
	}
	return rows, nil
}

// claimed returns the claims of each session, by session id.
func claimed(root *atomicfile.Dir) (map[string][]string, error) {
	data, err := root.ReadIf(ClaimsFile)
	if err != nil {
		return nil, err
	}
	var claims []struct { // the fields of claims.Claim that a list shows
		SID  string `json:"session_id"`
		Path string `json:"path"`
		Task string `json:"task"`
	}
	err = json.Unmarshal(data, &claims)
	by, more := map[string][]string{}, map[string]int{}
	for _, c := range claims {
		if len(by[c.SID]) == mostClaims {
			more[c.SID]++
			continue
		}
		by[c.SID] = append(by[c.SID], mail.Message{Content: cmp.Or(c.Path, c.Task)}.FirstWords(200))
	}
	for sid, n := range more {
		by[sid] = append(by[sid], fmt.Sprintf("and %d more", n))
	}
	return by, err
}

// mostClaims is the number of claims that a list shows for one session.
const mostClaims = 8

// Look returns a session as a list shows it.
func (reg *Registry) Look(s Session) (Listed, error) {
	boxes, err := reg.Backlogs()
	if err != nil {
		return Listed{}, err
	}
	defer boxes.Close()
	return reg.listed(s, boxes, reg.Prober()), nil
}

// AddTokens sets Tokens in the rows of a list, for sessions whose client runs. It reads the clients'
// own records.
func (reg *Registry) AddTokens(rows []Listed) {
	for i := range rows {
		row := &rows[i]
		if row.process == 0 {
			continue
		}
		if p, _ := client.Find(row.Client); p.Tokens.Input != nil {
			config, _ := p.Config(EnvironmentOf(reg.Processes.Environ(row.process)))
			row.Tokens = p.TokensOf(config, row.clientID)
		}
	}
}

func (reg *Registry) Backlogs() (*inbox.Backlogs, error) {
	there, err := reg.root.NameSet()
	if err != nil {
		return nil, err
	}
	return inbox.OpenBacklogs(reg.root, there)
}

// Lines describes a session to a person or a model: its state, if that is known, and its waiting
// mail.
func (l Listed) Lines(now time.Time) (lines []string) {
	if does := l.Now.Does; does != Alive && does != Unknown && does != Person && does != External {
		lines = append(lines, l.Now.Says("it", now))
	}
	switch {
	case l.Count == 1:
		lines = append(lines, "1 message waits, for "+format.Age(now.Sub(l.Oldest)))
	case l.Count > 1:
		lines = append(lines, fmt.Sprintf("%d messages wait, the oldest for %s", l.Count, format.Age(now.Sub(l.Oldest))))
	}
	if l.StartedBy != "" {
		lines = append(lines, l.StartedBy+" has started it")
	}
	if l.KnownBy == mail.ByClaim {
		lines = append(lines, `c2c sees no process of its client above this one: its mail says by="claimed"`)
	}
	if l.Quiet {
		lines = append(lines, "do not disturb is on: mail waits for its next turn")
	}
	return lines
}

func (reg *Registry) listed(s Session, boxes *inbox.Backlogs, look Prober) Listed {
	row := Listed{ID: s.ID, Alias: s.Alias, PID: s.PID, Client: s.Client, Role: s.Role, Registered: mail.Seconds(s.Registered),
		State: s.State, Quiet: s.Quiet, LastRing: s.LastRing, process: s.Process, clientID: s.ClientID()}
	var why string
	if row.Surface, why = look.Surface(s); why == RingerEnded {
		row.Note = RingerEnded + "; c2c doctor says what to do"
	} else if lacks, do := look.Lacks(s); lacks != "" {
		row.Note = lacks + "; " + do
	}
	mail, err := boxes.Of(s.ID)
	if err != nil {
		row.Error = err.Error()
	}
	row.Count, row.Oldest, row.LastRead = mail.Count, mail.Oldest.UTC(), mail.LastRead.UTC()
	row.Waiting = row.Count > 0 || s.HasMailToMove()
	if row.Now = look.Now(s, row.Waiting); row.Now.Does == Away {
		row.State = Away
	}
	if s.State == Alive || s.State == Absent {
		alive := s.State == Alive
		row.Alive = &alive
	}
	return row
}
