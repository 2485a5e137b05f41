package broker

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

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
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

func (e *LiveError) Error() string { return "sessions run there, or may run: " + few(e.Aliases) }

// wakeLock is the lock of the wake daemon, see wake/daemon.
const wakeLock = "wake.lock"

// merging is one merge.
type merging struct {
	Merged
	to, from  *Broker
	live, dry bool
	taken     []row             // of a dry run: the registry that there would be by now
	ids       map[string]string // the session of each client's id
}

// MergeRoot moves all that another root has into this one: sessions with their facts, mail, archives, dead letters. Ids stay. A
// session that both have becomes one. One whose alias is taken here gets another. Where the root was, a link to this one is
// left, for whoever looks there. When a session runs there the error is a *LiveError, unless live says that it may:
// its programs follow with their next call.
//
// One session at a time is moved, and its old row goes last. So whoever is killed, at any point, leaves each message in one of
// the roots, or in both with one id, and the next merge goes on.
func (b *Broker) MergeRoot(ctx context.Context, path string, live, dry bool) (Merged, error) {
	m := &merging{Merged: Merged{From: path, Into: b.Root(), Sessions: []MergedSession{}}, to: b, live: live, dry: dry}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return m.Merged, err
	}
	var err error
	if m.from, err = Open(Config{Root: path, Now: b.now, Log: b.log}); err != nil {
		return m.Merged, err
	}
	defer m.from.Close()
	m.from.proc = b.proc
	for _, step := range []func(context.Context) error{m.check, m.spills, m.sessions, m.owed, m.deadLetters, m.rest} {
		if err := step(ctx); err != nil {
			return m.Merged, fmt.Errorf("merge %s: %w", path, err)
		}
	}
	return m.Merged, nil
}

// check refuses what cannot be merged now.
func (m *merging) check(ctx context.Context) error {
	if own := filepath.Dir(m.From); filepath.Base(m.From) != "broker" || filepath.Base(filepath.Dir(own)) != reposDir {
		return fmt.Errorf("this is no root that c2c has made: its path does not end in %s/<fingerprint>/broker", reposDir)
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
	if m.from.isHeld(wakeLock) {
		return fmt.Errorf("its wake daemon runs: C2C_MCP_BROKER_ROOT=%s c2c wake stop ends it", m.From)
	}
	var running []string
	for _, s := range all {
		if s.State == Alive || s.State == Unknown && s.PID != 0 {
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
	return m.from.takeSpills(ctx)
}

// sessions moves every session that has a row, facts or a mailbox.
func (m *merging) sessions(ctx context.Context) error {
	rows, err := m.from.rows(ctx)
	if err != nil {
		return err
	}
	if m.taken, err = m.to.rows(ctx); err != nil {
		return err
	}
	sids, err := inbox.Sessions(m.from.root)
	if err != nil {
		return err
	}
	if m.ids, err = m.clientIDs(sids); err != nil {
		return err
	}
	var order []string
	for _, r := range rows {
		order = append(order, r.sid())
	}
	for _, sid := range addMissing(order, slices.Sorted(maps.Keys(sids))...) {
		if err := m.session(ctx, rows, sid); err != nil {
			return fmt.Errorf("session %q: %w", sid, err)
		}
	}
	return nil
}

// clientIDs reads the index of client ids, and adds the sessions that have facts.
func (m *merging) clientIDs(sids map[string]bool) (map[string]string, error) {
	dir, err := m.from.root.Sub("sessions", false)
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

func (m *merging) session(ctx context.Context, rows []row, sid string) error {
	if m.dry {
		return m.drySession(ctx, rows, sid)
	}
	var s MergedSession
	// Its row goes first: who sends to it in the old root is told that nobody has the name, and brings no mail for ever.
	err := m.from.change(ctx, func(rows []row) ([]row, error) {
		var own row
		i := findSID(rows, sid)
		if i >= 0 {
			own = rows[i]
		}
		var err error
		if s, err = m.moveRow(ctx, sid, own); err == nil && i >= 0 {
			rows = slices.Delete(rows, i, i+1)
		}
		return rows, err
	})
	if err == nil && inbox.ValidName(sid) {
		err = m.from.locked(ctx, RegistryLock, func() error { // nobody registers it there meanwhile
			s.Messages, err = m.moveBox(ctx, sid)
			return err
		})
	}
	m.Sessions = append(m.Sessions, s)
	return err
}

func (m *merging) drySession(ctx context.Context, rows []row, sid string) error {
	var own row
	if i := findSID(rows, sid); i >= 0 {
		own = rows[i]
	}
	s, moved := m.place(m.taken, sid, own)
	m.taken = append(m.taken, moved...)
	if inbox.ValidName(sid) {
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
func (m *merging) place(rows []row, sid string, own row) (s MergedSession, moved []row) {
	s = MergedSession{ID: sid, Alias: own.alias()}
	if i := findSID(rows, sid); i >= 0 {
		s.Joined = true
		s.Alias = rows[i].alias()
	} else if own != nil {
		if s.Alias = freeAlias(rows, own.alias()); s.Alias != own.alias() {
			s.Former = own.alias()
			own.setText("alias", s.Alias)
			own.set("canonical_alias", nil) // the original makes it from the alias
		}
		moved = []row{own}
	}
	return s, moved
}

// moveRow registers a session in the new root. As with any new session, its facts and the index come before the registry.
func (m *merging) moveRow(ctx context.Context, sid string, own row) (s MergedSession, err error) {
	err = m.to.change(ctx, func(rows []row) ([]row, error) {
		if i := findSID(rows, sid); i >= 0 && own != nil && m.to.state(rows[i]) == Alive && m.from.state(own) == Alive {
			return nil, fmt.Errorf("%q runs in both roots: end one of the two", own.alias())
		}
		var moved []row
		s, moved = m.place(rows, sid, own)
		if !inbox.ValidName(sid) {
			return append(rows, moved...), nil
		}
		was, err := m.from.readFacts(sid)
		if damaged := new(damagedError); err != nil && !errors.As(err, &damaged) { // a damaged file is kept, see rest
			return nil, err
		}
		if s.Former != "" {
			was.Alias = s.Alias
		}
		if err := m.bindIDs(sid); err != nil {
			return nil, err
		}
		return append(rows, moved...), m.to.changeFacts(ctx, sid, func(f *facts) { f.join(was) })
	})
	return s, err
}

// join adds the facts of the same session in another root.
func (f *facts) join(other facts) {
	if !f.stored {
		*f = other
		return
	}
	ids := slices.DeleteFunc(slices.Clone(other.ClientIDs), func(id string) bool { return slices.Contains(f.ClientIDs, id) })
	ids = append(ids, f.ClientIDs...)
	f.ClientIDs = ids[max(0, len(ids)-maxClientIDs):]
	f.MoveFrom = addMissing(f.MoveFrom, other.MoveFrom...)
}

// bindIDs leads the client ids of a session to it in the new root too, but for those that lead elsewhere there.
func (m *merging) bindIDs(sid string) error {
	sessions, err := m.to.sessionsDir()
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
	facts, err := m.from.sessionsDir()
	if err != nil {
		return 0, err
	}
	defer facts.Close()
	more := []inbox.Entry{{Dir: facts, Name: sid + ".json"}, {Dir: facts, Name: sid + ".lock"}}
	if !m.live { // else the session's own programs hold these, and rest removes them
		more = append(more, inbox.Entry{Dir: m.from.root, Name: ringLock(sid)}, inbox.Entry{Dir: m.from.root, Name: serverLock(sid)})
	}
	for range maxMoves { // a sender may have been on its way
		n, err := m.moveMail(ctx, sid, to)
		if count += n; err != nil {
			return count, err
		}
		if err := m.from.root.Move(answeredName(sid), m.to.root, answeredName(sid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return count, err
		}
		if gone, err := box.MergeInto(ctx, to, more...); gone || err != nil {
			return count, err
		}
	}
	return count, errors.New("a program has something of its mailbox in hand: run this again when it is done")
}

func (m *merging) moveMail(ctx context.Context, sid string, to *inbox.Mailbox) (count int, err error) {
	err = m.from.emptyMailbox(ctx, sid, func(messages []inbox.Message) (int, error) {
		refused, n, err := deliverSome(ctx, to, messages)
		if derr := m.to.addDead(ctx, sid, refused...); derr != nil {
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
	m.to.lookBy(m.to.now())
	dir, err := m.from.subIfThere(owedDir)
	if err != nil || dir == nil {
		return err
	}
	defer dir.Close()
	sids, err := owedSessions(dir)
	for _, sid := range sids {
		if err == nil {
			err = filelock.With(ctx, dir, sid+".lock", func() error { return m.moveOwed(ctx, dir, sid) })
		}
	}
	for _, name := range []string{closedOld, closedFile} {
		if err == nil {
			err = m.moveClosed(dir, name)
		}
	}
	return err
}

// moveClosed moves what is owed no more. After a kill some of it stands there twice, and counts once.
func (m *merging) moveClosed(from *atomicfile.Dir, name string) error {
	data, err := from.ReadIf(name)
	if err != nil || data == nil {
		return err
	}
	to, err := m.to.root.Sub(owedDir, true)
	if err != nil {
		return err
	}
	defer to.Close()
	m.to.keepClosed(to, data)
	return from.Remove(name)
}

func (m *merging) moveOwed(ctx context.Context, dir *atomicfile.Dir, sid string) error {
	debts, err := readDebts(dir, sid)
	if err != nil {
		return err
	}
	whole := slices.DeleteFunc(debts, func(d debt) bool { return d.half })
	if err := m.to.owe(ctx, sid, true, whole...); err != nil {
		return err
	}
	return dir.Remove(sid + owedEnd)
}

// deadLetters moves them line by line, those that do not parse too.
func (m *merging) deadLetters(ctx context.Context) error {
	if !m.from.mayHaveDead() {
		return nil
	}
	if m.dry {
		dead, err := m.from.DeadLetters(ctx, 0)
		m.DeadLetters = len(dead)
		return err
	}
	return m.from.locked(ctx, DeadLetterLock, func() error {
		lines, err := m.from.deadLines()
		if err != nil {
			return err
		}
		if m.DeadLetters, err = m.to.addDeadLines(ctx, lines); err != nil {
			return err
		}
		return m.from.root.Replace(deadFile, nil)
	})
}

// addDeadLines adds lines of another root's file, each once.
func (b *Broker) addDeadLines(ctx context.Context, lines [][]byte) (count int, err error) {
	err = b.locked(ctx, DeadLetterLock, func() error {
		own, err := b.deadLines()
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
		return b.root.AppendLines(deadFile, all)
	})
	return count, err
}
