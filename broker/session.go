package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"c2c/broker/client"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/wake"
)

// State is what we know about a session's client.
type State string

// States. Person is somebody at a terminal, whose processes tell nothing. Unknown is a session whose process
// nobody named, or which cannot be seen from here: nothing is taken from it, and it is treated as reachable.
const (
	Alive   State = "alive"
	Absent  State = "absent"
	Person  State = "person"
	Unknown State = "unknown"
)

// Away is a session whose client lives and shows it in no terminal.
const Away State = "away"

// Presence is the state as a person wants to know it. Only a session with mail is known to be away: the ring
// for that mail has found out.
func (s Session) Presence(waits bool) State {
	if waits && s.State == Alive && s.LastRing.Outcome == wake.Away {
		return Away
	}
	return s.State
}

// Session is a mailbox and who it belongs to.
type Session struct {
	ID    string
	Alias string
	// Client is the AI program's name, or empty.
	Client string
	// ClientIDs are the client's own ids of this session, newest last.
	ClientIDs []string
	// PID is the client's process as it was registered; it may be another one's by now.
	PID int
	// Process is PID while it is known to be the session's, and zero otherwise.
	Process    int
	State      State
	Registered time.Time
	Role       string    // what it says it does
	Quiet      bool      // do not disturb: its mail waits for its next turn and rings nobody
	Pane       string    // the pane of a multiplexer that its person lets c2c type into, see wake/mux
	Unattended bool      // its person wants it woken when no terminal shows it
	LastRing   wake.Ring // zero when it was never rung

	facts facts
}

// MailToCome says that mail of another session, or a dead letter, is still to be moved to it: Attach does it.
func (s Session) MailToCome() bool { return len(s.facts.MoveFrom) > 0 }

// facts is sessions/<sid>.json: what the registry has no field for. The original rewrites the registry
// without fields it does not know.
type facts struct {
	Alias     string   `json:"alias,omitempty"` // for a session that comes back after a sweep
	Client    string   `json:"client,omitempty"`
	ClientIDs []string `json:"client_ids,omitempty"`
	// PID and StartTime say of which process of the registry Namespace is the PID namespace; a person has no process.
	PID       int        `json:"pid,omitempty"`
	StartTime int64      `json:"pid_start_time,omitempty"`
	Namespace string     `json:"pid_namespace,omitempty"`
	Named     bool       `json:"named,omitempty"` // its alias was chosen, or C2C_MCP_AUTO_REGISTER_ALIAS was tried
	Pane      string     `json:"pane,omitempty"`
	LastRing  *wake.Ring `json:"last_ring,omitempty"`
	// Unattended: see Session.
	Unattended bool `json:"unattended,omitempty"`
	// MoveFrom are the sessions whose mail is to come here, its own id for the dead letters. It is written before
	// the registry changes hands and dropped when the mail is here: after a crash the next Attach brings it.
	MoveFrom []string `json:"move_from,omitempty"`

	known bool // the file is there
}

// maxClientIDs bounds the list: each /clear adds one. The index keeps all of them.
const maxClientIDs = 16

func (b *Broker) sessionsDir() (*atomicfile.Dir, error) { return b.root.Sub("sessions", true) }

func (b *Broker) readFacts(sid string) (f facts, err error) {
	dir, err := b.sessionsDir()
	if err != nil {
		return f, err
	}
	defer dir.Close()
	return readFacts(dir, sid)
}

func readFacts(dir *atomicfile.Dir, sid string) (f facts, err error) {
	data, err := dir.Read(sid + ".json") // what is no file of ours is damage, too
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	odd := errors.Is(err, atomicfile.ErrNotOurs) || errors.Is(err, atomicfile.ErrTooLarge) || errors.Is(err, fs.ErrPermission)
	if err != nil && !odd {
		return f, err
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return facts{}, &damagedError{fmt.Errorf("read facts of session %q: %w", sid, err)}
	}
	f.known = true
	return f, nil
}

// factsOf is readFacts for who can do without them: the registry says who a session is.
func (b *Broker) factsOf(sid string) facts { return b.factsWith(b.readFacts, sid) }

func (b *Broker) factsWith(read func(sid string) (facts, error), sid string) facts {
	if !inbox.ValidName(sid) {
		return facts{} // the original allows any id; such a session can have no facts of ours
	}
	f, err := read(sid)
	if err != nil {
		b.log.Warn("facts of a session are unreadable", "session", sid, "err", err)
	}
	return f
}

// changeFacts edits sessions/<sid>.json under its lock.
func (b *Broker) changeFacts(ctx context.Context, sid string, edit func(*facts)) error {
	dir, err := b.sessionsDir()
	if err != nil {
		return err
	}
	defer dir.Close()
	return lockedIn(ctx, dir, sid+".lock", func() error {
		f, err := readFacts(dir, sid)
		if damaged := new(damagedError); errors.As(err, &damaged) {
			// The registry says who it is; what is lost here is said again at the next attach.
			aside := sid + ".json.corrupt-" + strconv.FormatInt(b.now().UnixMicro(), 10)
			b.log.Error("facts of a session were damaged", "session", sid, "kept_as", aside, "err", err)
			err = dir.Rename(sid+".json", aside)
		}
		if err != nil {
			return err
		}
		before, _ := json.Marshal(f)
		edit(&f)
		after, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			return err
		}
		if compact, _ := json.Marshal(f); string(compact) == string(before) {
			return nil // hooks come here on every call: no fsync for nothing
		}
		return dir.Replace(sid+".json", append(after, '\n'))
	})
}

// Rang records an attempt to ring a session, for Status and for people who ask why nothing happened.
func (b *Broker) Rang(ctx context.Context, sid string, ring wake.Ring) error {
	b.record(ctx, "ring", Note{"session_id", sid}, Note{"method", ring.Method}, Note{"outcome", ring.Outcome},
		Note{"message_id", ring.Oldest}, Note{"cause", ring.Cause})
	if ring.Outcome == wake.Coalesced || ring.Outcome == wake.Filtered {
		return nil // no attempt: the last one is what people ask about
	}
	return b.changeFacts(ctx, sid, func(f *facts) { f.LastRing = &ring })
}

// maxDescription bounds what a session says of itself, in bytes.
const maxDescription = 200

// Describe records what a session says of itself; an empty word leaves what was said before.
func (b *Broker) Describe(ctx context.Context, sid, role string) error {
	if len(role) > maxDescription || !utf8.ValidString(role) || strings.ContainsFunc(role, unicode.IsControl) {
		return fmt.Errorf("describe session: %q: want plain text of at most %d bytes on one line", role, maxDescription)
	}
	if role == "" {
		return nil
	}
	return b.changeRow(ctx, sid, func(r *row) { r.setText("role", role) })
}

// SetPane lets c2c type into a pane to wake a session; an empty one ends it, and then no ring that began before
// is under way any more. Ringers hear of it at once.
func (b *Broker) SetPane(ctx context.Context, sid, pane string) error {
	if err := b.permit(ctx, sid, func(f *facts) { f.Pane = pane }); err != nil || pane != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	release, err := b.ClaimRinging(ctx, sid)
	if errors.Is(err, filelock.ErrTimeout) {
		return nil // the session's own server has the right to ring, and does not type
	}
	if err != nil {
		return err
	}
	return release()
}

// ringTime is what a ring by typing may take.
const ringTime = 8 * time.Second

// SetUnattended allows, or forbids, to wake a session that no terminal shows.
func (b *Broker) SetUnattended(ctx context.Context, sid string, on bool) error {
	return b.permit(ctx, sid, func(f *facts) { f.Unattended = on })
}

// permit changes what a person allows. It holds the registry's lock, whose release tells the ringers.
func (b *Broker) permit(ctx context.Context, sid string, edit func(*facts)) error {
	return b.locked(ctx, RegistryLock, func() error { return b.changeFacts(ctx, sid, edit) })
}

// SetQuiet turns a session's do-not-disturb on or off.
func (b *Broker) SetQuiet(ctx context.Context, sid string, quiet bool) error {
	return b.changeRow(ctx, sid, func(r *row) {
		for _, name := range []string{"dnd", "dnd_since", "dnd_until"} {
			r.drop(name)
		}
		if quiet {
			r.set("dnd", json.RawMessage("true"))
			r.setTime("dnd_since", inbox.Seconds(b.now()))
		}
	})
}

// quiet reads the original's do-not-disturb, which may have an end.
func (b *Broker) quiet(r row) bool {
	until := r.number("dnd_until")
	return string(r.get("dnd")) == "true" && (until == 0 || inbox.Seconds(b.now()) < until)
}

func idKey(client, id string) (string, error) {
	key := client + "." + id
	if client == "" || !inbox.ValidName(id) || !inbox.ValidName(key) || atomicfile.IsTemp(key) {
		return "", fmt.Errorf("session id %q of client %q is not a valid name", id, client)
	}
	return key, nil
}

// sidOf looks a client's own id up; "" when it was never seen.
func (b *Broker) sidOf(client, id string) (string, error) {
	key, err := idKey(client, id)
	if err != nil {
		return "", err
	}
	ids, err := b.idsDir()
	if err != nil {
		return "", err
	}
	defer ids.Close()
	data, err := ids.Read(key)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	sid, whole := strings.CutSuffix(string(data), "\n")
	if !whole || !inbox.ValidName(sid) {
		return "", fmt.Errorf("read sessions/ids/%s: %q is not a session id", key, data)
	}
	return sid, nil
}

func (b *Broker) idsDir() (*atomicfile.Dir, error) {
	dir, err := b.sessionsDir()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Sub("ids", true)
}

// bindID records that a client's own id belongs to a session.
func (b *Broker) bindID(client, id, sid string) error {
	key, err := idKey(client, id)
	if err != nil {
		return err
	}
	ids, err := b.idsDir()
	if err != nil {
		return err
	}
	defer ids.Close()
	if data, err := ids.Read(key); err == nil && string(data) == sid+"\n" {
		return nil
	}
	return ids.Replace(key, []byte(sid+"\n"))
}

// Sessions lists every registered session, in the registry's order.
func (b *Broker) Sessions(ctx context.Context) ([]Session, error) {
	rows, err := b.rows(ctx)
	if err != nil {
		return nil, err
	}
	// What hundreds of sessions need is opened once, and a lock that has no file is not opened for each.
	read := b.readFacts
	if dir, err := b.sessionsDir(); err == nil {
		defer dir.Close()
		read = func(sid string) (facts, error) { return readFacts(dir, sid) }
	}
	held := b.isHeld
	if names, err := b.root.Names(); err == nil {
		slices.Sort(names)
		held = func(lock string) bool {
			_, there := slices.BinarySearch(names, lock)
			return there && b.isHeld(lock)
		}
	}
	list := make([]Session, 0, len(rows))
	for _, r := range rows {
		list = append(list, b.sessionWith(r, b.factsWith(read, r.sid()), held))
	}
	return list, nil
}

func (b *Broker) session(r row) Session { return b.sessionWith(r, b.factsOf(r.sid()), b.isHeld) }

// sessionWith makes the session of a row. held says whether a process holds a lock of the root.
func (b *Broker) sessionWith(r row, f facts, held func(lock string) bool) Session {
	s := Session{
		ID:         r.sid(),
		Alias:      r.alias(),
		Client:     cmp.Or(f.Client, r.text("client_type")),
		ClientIDs:  f.ClientIDs,
		PID:        int(r.integer("pid")),
		Registered: inbox.FromSeconds(r.number("registered_at")),
		Role:       r.text("role"),
		Quiet:      b.quiet(r),
		Pane:       f.Pane,
		Unattended: f.Unattended,
		facts:      f,
	}
	b.look(&s, r, held)
	if p, ok := client.Find(s.Client); ok {
		s.Client = p.Name // the original, and the client itself, may have another word for it
	}
	if f.LastRing != nil {
		s.LastRing = *f.LastRing
	}
	return s
}

// addID puts an id last, once.
func addID(ids []string, id string) []string {
	if n := len(ids); n > 0 && ids[n-1] == id {
		return ids
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(s string) bool { return s == id })
	ids = append(ids, id)
	return ids[max(0, len(ids)-maxClientIDs):]
}
