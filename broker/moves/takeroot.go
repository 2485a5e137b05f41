package moves

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

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// TakenRoot lists what TakeRoot has moved, or would move.
type TakenRoot struct {
	From     string         `json:"from"`
	Into     string         `json:"into"`
	Sessions []TakenSession `json:"sessions"`
	Kept     string         `json:"kept"` // the directory for the files that belong to no session
}

// TakenSession is a session that has moved, or would move.
type TakenSession struct {
	ID       string `json:"session_id"`
	Alias    string `json:"alias,omitempty"`
	Former   string `json:"former_alias,omitempty"` // its old alias, if another session of the new root has that alias
	Messages int    `json:"messages"`               // messages that wait
	Joined   bool   `json:"joined,omitempty"`       // the new root has the same session already
}

// TakeRoot moves the sessions of another root into this one, with their mail and archives, and the
// dead letters. Ids stay. A session that both roots have becomes one. A session whose alias is
// taken here gets another alias. All other files stay as files, in Kept, and a link to this root
// replaces the other root. If a session may run in the other root, TakeRoot moves nothing, and the
// error is ErrRuns. If dry is set, it only lists what it would move. Each root must be of a project,
// as in project.StateOf.
//
// Sessions move one at a time, each step with the same ids and in an order in which a kill loses
// and doubles nothing: the next call does the missing steps.
func TakeRoot(ctx context.Context, reg, other *sessions.Registry, dry bool) (TakenRoot, error) {
	t := &takingRoot{to: reg, from: other, TakenRoot: TakenRoot{From: other.Root(), Into: reg.Root(), Sessions: []TakenSession{},
		Kept: filepath.Join(reg.Root(), "from-"+project.ID(other.Root()))}}
	same, err := sameFile(t.From, t.Into)
	if err == nil && same {
		err = fmt.Errorf("%s is the project's root already", t.From)
	}
	if err != nil {
		return t.TakenRoot, err
	}
	err = t.takeSessions(ctx, dry)
	if err == nil && !dry {
		err = t.takeDead(ctx)
	}
	if err == nil && !dry {
		err = t.replaceRoot(ctx)
	}
	if err != nil {
		err = fmt.Errorf("move the sessions of %s: %w", t.From, err)
	}
	return t.TakenRoot, err
}

func sameFile(a, b string) (bool, error) {
	one, err := os.Stat(a)
	other, oerr := os.Stat(b)
	if err = errors.Join(err, oerr); err != nil {
		return false, err
	}
	return os.SameFile(one, other), nil
}

// takingRoot is one TakeRoot.
type takingRoot struct {
	TakenRoot
	to, from *sessions.Registry
}

// takeSessions moves every session that has a row, facts or a mailbox.
func (t *takingRoot) takeSessions(ctx context.Context, dry bool) error {
	all, err := t.from.Sessions(ctx)
	if err != nil {
		return err
	}
	var running []string
	for _, s := range all {
		if s.State == sessions.Alive || s.State == sessions.Unknown && s.PID != 0 {
			running = append(running, s.Alias)
		}
	}
	if len(running) > 0 && !dry {
		return fmt.Errorf("%s: %w", strings.Join(running, ", "), ErrRuns)
	}
	old, err := t.from.Rows(ctx)
	if err != nil {
		return err
	}
	rows, err := t.to.Rows(ctx) // in a dry run: as they would be by now
	if err != nil {
		return err
	}
	sids, err := t.from.Mailboxes(ctx)
	if err != nil {
		return err
	}
	facts, err := t.from.Facts.Dir()
	if err != nil {
		return err
	}
	defer facts.Close()
	known := map[string]bool{}
	if err := inbox.AddSessions(known, facts, ".json"); err != nil {
		return err
	}
	for _, r := range old {
		known[r.SID()] = mail.ValidName(r.SID()) // a row with another id stays in the file of the old root
	}
	for _, sid := range sessions.AddMissing(sids, slices.Sorted(maps.Keys(known))...) {
		if valid, has := known[sid]; has && !valid {
			continue
		}
		box, err := t.from.Mailbox(sid)
		if err != nil {
			return err
		}
		waiting, err := box.PeekAll(ctx)
		if err != nil {
			return err
		}
		var s TakenSession
		if dry {
			s, rows = place(rows, old, sid)
		} else {
			s, err = t.takeSession(ctx, box, sid)
		}
		s.Messages = len(waiting)
		if t.Sessions = append(t.Sessions, s); err != nil {
			return fmt.Errorf("session %q: %w", sid, err)
		}
	}
	return nil
}

// place adds the row of a session to the rows of the new root, unless that root has the session
// already. It decides under which alias.
func place(rows, old []sessions.Row, sid string) (TakenSession, []sessions.Row) {
	s := TakenSession{ID: sid}
	if i := sessions.FindSID(rows, sid); i >= 0 {
		s.Alias, s.Joined = rows[i].Alias(), true
		return s, rows
	}
	i := sessions.FindSID(old, sid)
	if i < 0 {
		return s, rows
	}
	row := slices.Clone(old[i])
	if s.Alias = sessions.FreeAlias(rows, row.Alias()); s.Alias != row.Alias() {
		s.Former = row.Alias()
		row.SetText("alias", s.Alias)
		row.Set("canonical_alias", nil) // an older program made it from the alias
	}
	return s, append(rows, row)
}

// takeSession moves one session: its client ids, its facts, its row, its obligations, its waiting
// mail, its archive. Once its row is gone from the old root, a sender there gets an error, so no
// mail stays there for ever.
func (t *takingRoot) takeSession(ctx context.Context, box *inbox.Mailbox, sid string) (s TakenSession, err error) {
	was, err := t.from.Facts.Read(sid)
	if err != nil && !errors.Is(err, sessions.ErrDamaged) { // a damaged file stays as it is
		return s, err
	}
	for _, id := range was.ClientIDs {
		if has, err := t.to.Facts.SidOf(was.Client, id); err == nil && has == "" {
			if err := t.to.Facts.BindID(was.Client, id, sid); err != nil {
				return s, err
			}
		}
	}
	err = t.from.Change(ctx, func(old []sessions.Row) ([]sessions.Row, error) {
		err := t.to.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
			if s, rows = place(rows, old, sid); s.Former != "" {
				was.Alias = s.Alias
			}
			return rows, t.to.Facts.Change(ctx, sid, func(f *sessions.Facts) { f.Join(was) })
		})
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(old, func(r sessions.Row) bool { return r.SID() == sid }), nil
	})
	if err == nil {
		err = t.from.Locks.With(ctx, sessions.RegistryLock, func() error { return t.takeMail(ctx, box, sid) }) // so it cannot register there
	}
	return s, err
}

func (t *takingRoot) takeMail(ctx context.Context, box *inbox.Mailbox, sid string) error {
	to, err := t.to.Mailbox(sid)
	if err != nil {
		return err
	}
	if err := owed.TakeOpen(ctx, t.to, t.from, sid); err != nil {
		return err
	}
	if err := Transfer(ctx, t.from, sid, t.to, sid, func([]mail.Message, []owed.DeadLetter) {}); err != nil {
		return err
	}
	if err := t.takeAnswered(sid); err != nil {
		return err
	}
	facts, err := t.from.Facts.Dir()
	if err != nil {
		return err
	}
	defer facts.Close()
	root := t.from.Dir()
	gone, err := box.MergeInto(ctx, to, inbox.Entry{Dir: facts, Name: sid + ".json"}, inbox.Entry{Dir: facts, Name: sid + ".lock"},
		inbox.Entry{Dir: root, Name: sessions.RingLock(sid)}, inbox.Entry{Dir: root, Name: sessions.ServerLock(sid)})
	if err == nil && !gone {
		err = errors.New("another program uses its mailbox: run this again when that program has ended")
	}
	return err
}

// takeAnswered keeps the later one of the two times at which a session's model has answered.
func (t *takingRoot) takeAnswered(sid string) error {
	was, told := sessions.LastAnswer(t.from, sid)
	if !told {
		return nil
	}
	err := sessions.ExpectAnswers(t.to, sid)
	if err == nil && !was.IsZero() {
		err = sessions.SawAnswer(t.to, sid, was)
	}
	if err == nil {
		err = atomicfile.UnlessAbsent(t.from.Dir().Remove(sessions.AnsweredName(sid)))
	}
	return err
}

// takeDead copies the dead letters. Lines that do not parse stay in the file, which replaceRoot
// keeps.
func (t *takingRoot) takeDead(ctx context.Context) error {
	if !callers.MayHaveDeadLetters(t.from) {
		return nil
	}
	letters, err := owed.DeadLetters(t.from)
	if err != nil {
		return err
	}
	of := map[string][]owed.DeadLetter{}
	for _, d := range letters {
		of[d.SessionID] = append(of[d.SessionID], d)
	}
	for _, sid := range slices.Sorted(maps.Keys(of)) {
		if err := owed.AddDead(ctx, t.to, sid, of[sid]...); err != nil {
			return err
		}
	}
	return nil
}

// replaceRoot moves all files that are left to the directory Kept, and puts a link to the new root
// in the place of the old one. Mail and sessions that came meanwhile stay where they are. Only an
// empty directory can be removed, so they are not lost: the next call takes them.
func (t *takingRoot) replaceRoot(ctx context.Context) error {
	keep, err := t.to.Dir().Sub(filepath.Base(t.Kept), true)
	if err != nil {
		return err
	}
	defer keep.Close()
	err = t.from.Locks.With(ctx, sessions.RegistryLock, func() error {
		rows, err := t.from.ReadRegistry()
		if err == nil && slices.ContainsFunc(rows, func(r sessions.Row) bool { return mail.ValidName(r.SID()) }) {
			err = errAgain
		}
		if err != nil {
			return err
		}
		return moveAll(t.from.Dir(), keep, func(name string) bool {
			return strings.HasSuffix(name, ".inbox.json") || strings.HasSuffix(name, ".lease")
		})
	})
	if err != nil {
		return err
	}
	name := filepath.Base(filepath.Dir(t.From))
	repos, err := atomicfile.Open(filepath.Dir(filepath.Dir(t.From)))
	if err != nil {
		return err
	}
	defer repos.Close()
	dir, err := repos.Sub(name, false)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.RemoveDir("broker"); err != nil {
		return fmt.Errorf("%w: %w", err, errAgain)
	}
	if err := errors.Join(moveAll(dir, keep, func(string) bool { return false }), repos.RemoveDir(name)); err != nil {
		return err
	}
	target := filepath.Dir(t.Into)
	if filepath.Dir(target) == repos.Path() {
		target = filepath.Base(target)
	}
	if err := repos.Symlink(target, name); err != nil && !errors.Is(err, fs.ErrExist) { // a command that just ran there has made the link
		return err
	}
	// The links by which other clones knew of the second root are for c2c doctor, and there is none
	// any more.
	notes, _ := filepath.Glob(filepath.Join(filepath.Dir(repos.Path()), project.ProjectsDir, "*."+name))
	for _, note := range notes {
		os.Remove(note)
	}
	return repos.Sync()
}

var errAgain = errors.New("a program has just used this root: run this again")

// moveAll moves all files of a directory except those for which stays returns true.
func moveAll(from, to *atomicfile.Dir, stays func(name string) bool) error {
	names, err := from.Names()
	for _, name := range names {
		if err != nil || stays(name) {
			continue
		}
		as := name
		for n := 2; ; n++ { // an earlier call may have kept a file with this name
			if _, err := to.Stat(as); errors.Is(err, fs.ErrNotExist) {
				break
			}
			as = fmt.Sprintf("%s.%d", name, n)
		}
		err = from.Move(name, to, as)
	}
	return err
}
