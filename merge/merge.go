package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/relay/cache"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/claims"
)

// Merged lists what a merge of two roots has moved, or would move.
type Merged struct {
	From        string          `json:"from"`
	Into        string          `json:"into"`
	Sessions    []MergedSession `json:"sessions"`
	DeadLetters int             `json:"dead_letters"`
	Files       []string        `json:"files,omitempty"` // saved files that are not mail: paths below Into
}

// MergedSession is a session that has moved, or would move.
type MergedSession struct {
	ID       string `json:"session_id"`
	Alias    string `json:"alias,omitempty"`
	Former   string `json:"former_alias,omitempty"` // its old alias, if another session of the new root has that alias
	Messages int    `json:"messages"`               // messages that wait
	Joined   bool   `json:"joined,omitempty"`       // the new root has the same session already
}

// LiveError lists the sessions of a root that run, or may run. Because of them the root cannot be merged.
type LiveError struct{ Aliases []string }

func (e *LiveError) Error() string {
	return "sessions run there, or may run: " + broker.Few(e.Aliases)
}

// merging is one merge.
type merging struct {
	Merged
	to, from *sessions.Registry
	dry      bool
	taken    []sessions.Row // in a dry run: the registry as it would be by now
}

// MergeRoot moves everything from another root into this one: sessions with their facts, mail, archives, dead letters. Ids stay. A session
// that both roots have becomes one. A session whose alias is taken here gets another alias. A link to this root replaces the other root. If
// a session runs in the other root, MergeRoot moves nothing and returns a *LiveError. If dry is set, it only lists what it would move.
//
// Sessions move one at a time: first the row of a session, then its mail. So after a kill at any point each message is in one of the roots,
// or in both with the same id, and the next merge goes on from there.
func MergeRoot(ctx context.Context, reg *sessions.Registry, path string, dry bool) (Merged, error) {
	m := &merging{Merged: Merged{From: path, Into: reg.Root(), Sessions: []MergedSession{}}, to: reg, dry: dry}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return m.Merged, err
	}
	var err error
	if m.from, err = reg.OpenOther(path); err != nil {
		return m.Merged, err
	}
	defer m.from.Close()
	steps := []func(context.Context) error{m.check, m.rooms, m.prepare, m.sessions, m.owed, m.lists, m.deadLetters, m.finish}
	if dry {
		steps = []func(context.Context) error{m.check, m.rooms, m.sessions, m.countDead, m.listLeftovers}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return m.Merged, fmt.Errorf("merge %s: %w", path, err)
		}
	}
	return m.Merged, nil
}

// check returns an error if the root cannot be merged now.
func (m *merging) check(ctx context.Context) error {
	if own := filepath.Dir(m.From); filepath.Base(m.From) != "broker" || filepath.Base(filepath.Dir(own)) != project.ReposDir {
		return fmt.Errorf("this is not a root that c2c has made: its path does not end in %s/<fingerprint>/broker", project.ReposDir)
	}
	from, err := os.Stat(m.From)
	to, terr := os.Stat(m.Into)
	if err = errors.Join(err, terr); err != nil {
		return err
	}
	if os.SameFile(from, to) {
		return errors.New("it is the project's root already")
	}
	all, err := m.from.Sessions(ctx)
	if err != nil || m.dry {
		return err
	}
	if m.from.Locks.Held(sessions.WakeLock) {
		return fmt.Errorf("its wake daemon runs: C2C_MCP_BROKER_ROOT=%s c2c wake stop ends it", m.From)
	}
	if relayed, err := cache.IsRelayed(m.from.Dir()); err != nil || relayed { // the relay would refuse mail for sessions that have just moved
		return errors.Join(err, errors.New("the relay carries its mail: end it with c2c relay stop, and start it again after the merge"))
	}
	var running []string
	for _, s := range all {
		if s.State == sessions.Alive || s.State == sessions.Unknown && s.PID != 0 {
			running = append(running, s.Alias)
		}
	}
	if len(running) > 0 {
		return &LiveError{running}
	}
	return nil
}

// rooms returns an error if sessions of this program are in a room, or wait to get into one. A merge does not move rooms, so these sessions
// would miss posts. A room that only the OCaml c2c has used is no error: its posts are in the mailboxes, too.
func (m *merging) rooms(context.Context) error {
	st := rooms.Store{Root: m.from.Dir(), Now: m.from.Now, Log: m.from.Log}
	names, err := st.Names()
	var used []string
	for _, name := range names {
		r, oerr := st.Open(name)
		if oerr != nil {
			return oerr
		}
		members, merr := r.Members()
		asked, aerr := r.Asked()
		if err = errors.Join(err, merr, aerr, r.Close()); len(asked) > 0 || slices.ContainsFunc(members, func(one rooms.Member) bool { return one.Ours }) {
			used = append(used, name)
		}
	}
	if err == nil && len(used) > 0 {
		err = fmt.Errorf("sessions are in rooms, which this does not move: %s. Archive each with C2C_MCP_BROKER_ROOT=%s c2c rooms archive NAME, or let its sessions leave it", broker.Few(used), m.From)
	}
	return err
}

// prepare copies the client ids that the new root does not have.
func (m *merging) prepare(ctx context.Context) error {
	return m.to.Facts.TakeIDs(m.from.Facts)
}

// sessions moves every session that has a row, facts or a mailbox.
func (m *merging) sessions(ctx context.Context) error {
	rows, err := m.from.Rows(ctx)
	if err != nil {
		return err
	}
	if m.taken, err = m.to.Rows(ctx); err != nil {
		return err
	}
	sids, err := inbox.Sessions(m.from.Dir())
	if err != nil {
		return err
	}
	if dir, err := m.from.SubIfThere("sessions"); err != nil {
		return err
	} else if dir != nil {
		defer dir.Close()
		if err := inbox.AddSessions(sids, dir, ".json"); err != nil {
			return err
		}
	}
	var order []string
	for _, r := range rows {
		order = append(order, r.SID())
	}
	for _, sid := range sessions.AddMissing(order, slices.Sorted(maps.Keys(sids))...) {
		move := m.session
		if m.dry {
			move = m.wouldMove
		}
		s, err := move(ctx, sid, rowOf(rows, sid))
		if m.Sessions = append(m.Sessions, s); err != nil {
			return fmt.Errorf("session %q: %w", sid, err)
		}
	}
	return nil
}

// rowOf returns the row of a session, or nil.
func rowOf(rows []sessions.Row, sid string) sessions.Row {
	if i := sessions.FindSID(rows, sid); i >= 0 {
		return rows[i]
	}
	return nil
}

// session moves one session.
func (m *merging) session(ctx context.Context, sid string, _ sessions.Row) (s MergedSession, err error) {
	// The row of the session goes first. After that, sends to the session in the old root are refused, so no mail is left there forever.
	err = m.from.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
		var err error
		i := sessions.FindSID(rows, sid)
		if s, err = m.moveRow(ctx, sid, rowOf(rows, sid)); err == nil && i >= 0 {
			rows = slices.Delete(rows, i, i+1)
		}
		return rows, err
	})
	if err == nil && mail.ValidName(sid) {
		err = m.from.Locks.With(ctx, sessions.RegistryLock, func() error { // so the session cannot register there meanwhile
			s.Messages, err = m.moveBox(ctx, sid)
			return err
		})
	}
	return s, err
}

// wouldMove returns what the method session would do.
func (m *merging) wouldMove(ctx context.Context, sid string, own sessions.Row) (MergedSession, error) {
	s, moved := place(m.taken, sid, own)
	m.taken = append(m.taken, moved...)
	if !mail.ValidName(sid) {
		return s, nil
	}
	box, err := m.from.Mailbox(sid)
	if err != nil {
		return s, err
	}
	msgs, err := box.PeekAll(ctx)
	s.Messages = len(msgs)
	return s, err
}

// place decides under which alias a session moves, and returns its row for the new root. It returns no row if the new root has the session
// already.
func place(rows []sessions.Row, sid string, own sessions.Row) (s MergedSession, moved []sessions.Row) {
	s = MergedSession{ID: sid, Alias: own.Alias()}
	if there := rowOf(rows, sid); there != nil {
		s.Joined = true
		s.Alias = there.Alias()
	} else if own != nil {
		if s.Alias = sessions.FreeAlias(rows, own.Alias()); s.Alias != own.Alias() {
			s.Former = own.Alias()
			own.SetText("alias", s.Alias)
			own.Set("canonical_alias", nil) // the OCaml c2c makes it from the alias
		}
		moved = []sessions.Row{own}
	}
	return s, moved
}

// moveRow registers a session in the new root. As for any new session, it writes the facts before the registry.
func (m *merging) moveRow(ctx context.Context, sid string, own sessions.Row) (s MergedSession, err error) {
	err = m.to.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
		var moved []sessions.Row
		s, moved = place(rows, sid, own)
		if !mail.ValidName(sid) {
			return append(rows, moved...), nil
		}
		was, err := m.from.Facts.Read(sid)
		if damaged := new(sessions.DamagedFactsError); err != nil && !errors.As(err, &damaged) { // a damaged file stays as it is
			return nil, err
		}
		if s.Former != "" {
			was.Alias = s.Alias
		}
		return append(rows, moved...), m.to.Facts.Change(ctx, sid, func(f *sessions.Facts) { f.Join(was) })
	})
	return s, err
}

// moveBox moves the waiting mail, then the archive, and removes the mailbox.
func (m *merging) moveBox(ctx context.Context, sid string) (count int, err error) {
	to, err := m.to.Mailbox(sid)
	if err != nil {
		return 0, err
	}
	box, err := m.from.Mailbox(sid)
	if err != nil {
		return 0, err
	}
	facts, err := m.from.Facts.Dir()
	if err != nil {
		return 0, err
	}
	defer facts.Close()
	root, answered := m.from.Dir(), sessions.AnsweredName(sid)
	for range moves.MaxMoves { // a sender may still deliver mail between the steps
		if err := moves.Transfer(ctx, m.from, sid, m.to, sid, func(moved []mail.Message, _ []owed.DeadLetter) { count += len(moved) }); err != nil {
			return count, err
		}
		if err := root.Move(answered, m.to.Dir(), answered); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return count, err
		}
		gone, err := box.MergeInto(ctx, to, inbox.Entry{Dir: facts, Name: sid + ".json"}, inbox.Entry{Dir: facts, Name: sid + ".lock"},
			inbox.Entry{Dir: root, Name: sessions.RingLock(sid)}, inbox.Entry{Dir: root, Name: sessions.ServerLock(sid)})
		if gone || err != nil {
			return count, err
		}
	}
	return count, errors.New("another program uses its mailbox: run this again when that program has ended")
}

// owed moves the records of messages with a deadline for the answer.
func (m *merging) owed(ctx context.Context) error { return owed.TakeAll(ctx, m.to, m.from) }

// lists moves the requests for a notice, and the claims. The step sessions comes first: requests of unknown sessions are dropped.
func (m *merging) lists(ctx context.Context) error {
	err := atomicfile.TakeRecords(ctx, m.to.Dir(), m.from.Dir(), sessions.NotifyFile, owed.NotifyLock)
	if err == nil {
		err = atomicfile.TakeRecords(ctx, m.to.Dir(), m.from.Dir(), claims.FileName, claims.LockName)
	}
	if err == nil { // wake the process that checks requests: it watches the registry's lock file
		err = m.to.Locks.With(ctx, sessions.RegistryLock, func() error { return nil })
	}
	return err
}

func (m *merging) countDead(ctx context.Context) error {
	if !callers.MayHaveDeadLetters(m.from) {
		return nil
	}
	dead, err := owed.DeadLetters(ctx, m.from, 0)
	m.DeadLetters = len(dead)
	return err
}

func (m *merging) deadLetters(ctx context.Context) (err error) {
	m.DeadLetters, err = owed.TakeDead(ctx, m.to, m.from)
	return err
}
