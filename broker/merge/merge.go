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
	"strings"

	"c2c/broker/explain"
	"c2c/broker/moves"
	"c2c/broker/notice"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/facts"
	"c2c/sessions/locks"
	"c2c/sessions/registry"
	"c2c/sessions/turns"
)

// Merged is what a merge of two roots has moved, or would move.
type Merged struct {
	From        string          `json:"from"`
	Into        string          `json:"into"`
	Sessions    []MergedSession `json:"sessions"`
	DeadLetters int             `json:"dead_letters"`
	Files       []string        `json:"files,omitempty"` // what is no mail, and is kept: paths below Into
}

// MergedSession is a mailbox that has moved.
type MergedSession struct {
	ID       string `json:"session_id"`
	Alias    string `json:"alias,omitempty"`
	Former   string `json:"former_alias,omitempty"` // when a session in the other root has that alias
	Messages int    `json:"messages"`               // that wait
	Joined   bool   `json:"joined,omitempty"`       // the other root has the same session
}

// LiveError says which sessions of a root run, or may run, so that it is not merged.
type LiveError struct{ Aliases []string }

func (e *LiveError) Error() string {
	return "sessions run there, or may run: " + explain.Few(e.Aliases)
}

// merging is one merge.
type merging struct {
	Merged
	to, from  *sessions.Registry
	live, dry bool
	taken     []registry.Row    // of a dry run: the registry that there would be by now
	ids       map[string]string // the session of each client's id
}

// MergeRoot moves all that another root has into this one: sessions with their facts, mail, archives, dead letters. Ids stay. A
// session that both have becomes one. One whose alias is taken here gets another. Where the root was, a link to this one is
// left, for whoever looks there. When a session runs there the error is a *LiveError, unless live says that it may:
// its programs follow with their next call.
//
// One session at a time is moved, and its old row goes last. So whoever is killed, at any point, leaves each message in one of
// the roots, or in both with one id, and the next merge goes on.
func MergeRoot(ctx context.Context, reg *sessions.Registry, path string, live, dry bool) (Merged, error) {
	m := &merging{Merged: Merged{From: path, Into: reg.Root(), Sessions: []MergedSession{}}, to: reg, live: live, dry: dry}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return m.Merged, err
	}
	var err error
	if m.from, err = reg.OpenOther(path); err != nil {
		return m.Merged, err
	}
	defer m.from.Close()
	for _, step := range []func(context.Context) error{m.check, m.spills, m.sessions, m.owed, m.deadLetters, m.finish} {
		if err := step(ctx); err != nil {
			return m.Merged, fmt.Errorf("merge %s: %w", path, err)
		}
	}
	return m.Merged, nil
}

// check refuses what cannot be merged now.
func (m *merging) check(ctx context.Context) error {
	if own := filepath.Dir(m.From); filepath.Base(m.From) != "broker" || filepath.Base(filepath.Dir(own)) != project.ReposDir {
		return fmt.Errorf("this is no root that c2c has made: its path does not end in %s/<fingerprint>/broker", project.ReposDir)
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
	if m.from.Locks.Held(locks.WakeLock) {
		return fmt.Errorf("its wake daemon runs: C2C_MCP_BROKER_ROOT=%s c2c wake stop ends it", m.From)
	}
	var running []string
	for _, s := range all {
		if s.State == sessions.Alive || s.State == sessions.Unknown && s.PID != 0 {
			running = append(running, s.Alias)
		}
	}
	if len(running) > 0 && !m.live {
		return &LiveError{running}
	}
	return nil
}

// spills has mail of an old version become mail that is moved.
func (m *merging) spills(ctx context.Context) error {
	if m.dry {
		return nil
	}
	return moves.TakeSpills(ctx, m.from)
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
	if m.ids, err = m.clientIDs(sids); err != nil {
		return err
	}
	var order []string
	for _, r := range rows {
		order = append(order, r.SID())
	}
	for _, sid := range facts.AddMissing(order, slices.Sorted(maps.Keys(sids))...) {
		if err := m.session(ctx, rows, sid); err != nil {
			return fmt.Errorf("session %q: %w", sid, err)
		}
	}
	return nil
}

// clientIDs reads the index of client ids, and adds the sessions that have facts.
func (m *merging) clientIDs(sids map[string]bool) (map[string]string, error) {
	dir, err := m.from.Dir().Sub("sessions", false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := inbox.AddSessions(sids, dir, ".json"); err != nil {
		return nil, err
	}
	ids, err := dir.Sub("ids", false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer ids.Close()
	found := map[string]string{}
	names, err := ids.Names()
	for _, name := range names {
		if data, err := ids.Read(name); err == nil {
			found[name] = strings.TrimSuffix(string(data), "\n")
		}
	}
	return found, err
}

func (m *merging) session(ctx context.Context, rows []registry.Row, sid string) error {
	if m.dry {
		return m.drySession(ctx, rows, sid)
	}
	var s MergedSession
	// Its row goes first. From then on a send to it in the old root is refused, so no mail comes there for ever.
	err := m.from.Change(ctx, func(rows []registry.Row) ([]registry.Row, error) {
		var own registry.Row
		i := registry.FindSID(rows, sid)
		if i >= 0 {
			own = rows[i]
		}
		var err error
		if s, err = m.moveRow(ctx, sid, own); err == nil && i >= 0 {
			rows = slices.Delete(rows, i, i+1)
		}
		return rows, err
	})
	if err == nil && mail.ValidName(sid) {
		err = m.from.Locks.With(ctx, registry.LockName, func() error { // nobody registers it there meanwhile
			s.Messages, err = m.moveBox(ctx, sid)
			return err
		})
	}
	m.Sessions = append(m.Sessions, s)
	return err
}

func (m *merging) drySession(ctx context.Context, rows []registry.Row, sid string) error {
	var own registry.Row
	if i := registry.FindSID(rows, sid); i >= 0 {
		own = rows[i]
	}
	s, moved := m.place(m.taken, sid, own)
	m.taken = append(m.taken, moved...)
	if mail.ValidName(sid) {
		box, err := m.from.Mailbox(sid)
		if err != nil {
			return err
		}
		msgs, err := box.PeekAll(ctx)
		if err != nil {
			return err
		}
		s.Messages = len(msgs)
	}
	m.Sessions = append(m.Sessions, s)
	return nil
}

// place says what becomes of a session, and gives its row among those of the new root; none when it has one there already.
func (m *merging) place(rows []registry.Row, sid string, own registry.Row) (s MergedSession, moved []registry.Row) {
	s = MergedSession{ID: sid, Alias: own.Alias()}
	if i := registry.FindSID(rows, sid); i >= 0 {
		s.Joined = true
		s.Alias = rows[i].Alias()
	} else if own != nil {
		if s.Alias = sessions.FreeAlias(rows, own.Alias()); s.Alias != own.Alias() {
			s.Former = own.Alias()
			own.SetText("alias", s.Alias)
			own.Set("canonical_alias", nil) // the original makes it from the alias
		}
		moved = []registry.Row{own}
	}
	return s, moved
}

// moveRow registers a session in the new root. As with any new session, its facts and the index come before the registry.
func (m *merging) moveRow(ctx context.Context, sid string, own registry.Row) (s MergedSession, err error) {
	err = m.to.Change(ctx, func(rows []registry.Row) ([]registry.Row, error) {
		if i := registry.FindSID(rows, sid); i >= 0 && own != nil && m.to.State(rows[i]) == sessions.Alive && m.from.State(own) == sessions.Alive {
			return nil, fmt.Errorf("%q runs in both roots: end one of the two", own.Alias())
		}
		var moved []registry.Row
		s, moved = m.place(rows, sid, own)
		if !mail.ValidName(sid) {
			return append(rows, moved...), nil
		}
		was, err := m.from.Facts.Read(sid)
		if damaged := new(facts.DamagedError); err != nil && !errors.As(err, &damaged) { // a damaged file is kept as it is
			return nil, err
		}
		if s.Former != "" {
			was.Alias = s.Alias
		}
		if err := m.bindIDs(sid); err != nil {
			return nil, err
		}
		return append(rows, moved...), m.to.Facts.Change(ctx, sid, func(f *facts.Facts) { f.Join(was) })
	})
	return s, err
}

// bindIDs leads the client ids of a session to it in the new root too, but for those that lead elsewhere there.
func (m *merging) bindIDs(sid string) error {
	sessions, err := m.to.Facts.Dir()
	if err != nil {
		return err
	}
	defer sessions.Close()
	ids, err := sessions.Sub("ids", true)
	if err != nil {
		return err
	}
	defer ids.Close()
	for name, of := range m.ids {
		if of != sid {
			continue
		}
		if there, err := ids.ReadIf(name); err != nil || there != nil {
			continue
		}
		if err := ids.Replace(name, []byte(sid+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// moveBox moves what waits, then the archive, and removes the mailbox.
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
	more := []inbox.Entry{{Dir: facts, Name: sid + ".json"}, {Dir: facts, Name: sid + ".lock"}}
	if !m.live { // else the session's own programs hold these, and finish removes them
		more = append(more, inbox.Entry{Dir: m.from.Dir(), Name: locks.RingLock(sid)}, inbox.Entry{Dir: m.from.Dir(), Name: locks.ServerLock(sid)})
	}
	for range moves.MaxMoves { // a sender may have been on its way
		n, err := m.moveMail(ctx, sid, to)
		if count += n; err != nil {
			return count, err
		}
		if err := m.from.Dir().Move(turns.AnsweredName(sid), m.to.Dir(), turns.AnsweredName(sid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return count, err
		}
		if gone, err := box.MergeInto(ctx, to, more...); gone || err != nil {
			return count, err
		}
	}
	return count, errors.New("a program has something of its mailbox in hand: run this again when it is done")
}

func (m *merging) moveMail(ctx context.Context, sid string, to *inbox.Mailbox) (count int, err error) {
	err = moves.EmptyMailbox(ctx, m.from, sid, func(messages []mail.Message) (int, error) {
		refused, n, err := moves.DeliverSome(ctx, to, messages)
		if derr := notice.AddDead(ctx, m.to, sid, refused...); derr != nil {
			return 0, errors.Join(err, derr)
		}
		count += n
		return n, err
	})
	return count, err
}

// owed moves the records of the messages that are to be answered by a time.
func (m *merging) owed(ctx context.Context) error {
	if m.dry {
		return nil
	}
	m.to.Due.LookBy(m.to.Now())
	dir, err := m.from.SubIfThere(owed.Directory)
	if err != nil || dir == nil {
		return err
	}
	defer dir.Close()
	sids, err := owed.Sessions(dir)
	for _, sid := range sids {
		if err == nil {
			err = filelock.With(ctx, dir, sid+".lock", func() error { return m.moveOwed(ctx, dir, sid) })
		}
	}
	for _, name := range []string{owed.ClosedOld, owed.ClosedFile} {
		if err == nil {
			err = m.moveClosed(dir, name)
		}
	}
	return err
}

// moveClosed moves the records of closed obligations. After a kill some of them are there twice, and count once.
func (m *merging) moveClosed(from *atomicfile.Dir, name string) error {
	data, err := from.ReadIf(name)
	if err != nil || data == nil {
		return err
	}
	to, err := m.to.Dir().Sub(owed.Directory, true)
	if err != nil {
		return err
	}
	defer to.Close()
	owed.KeepClosed(m.to, to, data)
	return from.Remove(name)
}

func (m *merging) moveOwed(ctx context.Context, dir *atomicfile.Dir, sid string) error {
	records, err := owed.Read(dir, sid)
	if err != nil {
		return err
	}
	whole := slices.DeleteFunc(records, func(d owed.Record) bool { return d.Half })
	if err := owed.Add(ctx, m.to, sid, true, whole...); err != nil {
		return err
	}
	return dir.Remove(sid + owed.Suffix)
}

// deadLetters moves them line by line, those that do not parse too.
func (m *merging) deadLetters(ctx context.Context) error {
	if !callers.MayHaveDeadLetters(m.from) {
		return nil
	}
	if m.dry {
		dead, err := notice.DeadLetters(ctx, m.from, 0)
		m.DeadLetters = len(dead)
		return err
	}
	return m.from.Locks.With(ctx, notice.DeadLetterLock, func() error {
		lines, err := notice.DeadLines(m.from)
		if err != nil {
			return err
		}
		if m.DeadLetters, err = addDeadLines(ctx, m.to, lines); err != nil {
			return err
		}
		return m.from.Dir().Replace(callers.DeadLetterFile, nil)
	})
}

// addDeadLines adds lines of another root's file, each once.
func addDeadLines(ctx context.Context, reg *sessions.Registry, lines [][]byte) (count int, err error) {
	err = reg.Locks.With(ctx, notice.DeadLetterLock, func() error {
		own, err := notice.DeadLines(reg)
		if err != nil {
			return err
		}
		there := map[string]bool{"": true}
		for _, line := range own {
			there[strings.TrimSpace(string(line))] = true
		}
		var all []byte
		for _, line := range lines {
			if text := strings.TrimSpace(string(line)); !there[text] {
				there[text] = true
				all = append(append(all, text...), '\n')
				count++
			}
		}
		if count == 0 {
			return nil
		}
		return reg.Dir().AppendLines(callers.DeadLetterFile, all)
	})
	return count, err
}
