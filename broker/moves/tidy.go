package moves

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// The process that acts on deadlines also tidies the root, once a day. Commands and hooks do not.
//
// It removes only useless data: rows of sessions that were not used for long (sessions/forget.go),
// the locks and empty mailboxes of sessions without a row, and later also their facts and the
// client ids that lead to them. Everything that a person may look for stays until "c2c prune":
// archives, dead letters, and all mail that a peer wrote.
//
// It removes a lock file by the rules of docs/inside/files.md, "Retention".
const (
	TidiedName = "tidied"

	TidyEvery = 24 * time.Hour
	tidyAgain = 10 * time.Minute // the time until the next run, if there is more to tidy or something failed
	// tidyMost bounds how many sessions one run tidies, because for each it holds the registry's
	// lock for some milliseconds.
	tidyMost = 50
	// factsAfter is how long the facts of an unused session without a row are kept.
	factsAfter = 90 * 24 * time.Hour
)

// tidying is one run.
type tidying struct {
	reg         *sessions.Registry
	archive     *atomicfile.Dir
	facts, owed *atomicfile.Dir // nil: there is no such directory
	old         map[string]bool // sessions with facts that are older than factsAfter
	dead        map[string]bool // the sessions that have dead letters
	left        int             // how many sessions this run may still tidy
}

// TidyDaily tidies the root unless that was done within the last day, and returns when to call it
// again. The note TidiedName says when the root was last tidied, so other processes know it, too.
func TidyDaily(ctx context.Context, reg *sessions.Registry) (again time.Time) {
	now := reg.Now()
	if last, err := reg.Dir().ReadTime(TidiedName); err == nil && !last.After(now) {
		if next := last.Add(TidyEvery); next.After(now) {
			return next
		}
	}
	more, err := tidy(ctx, reg)
	if err != nil && ctx.Err() == nil {
		reg.Log.Warn("the root was tidied only in part", "err", err)
	}
	if more || err != nil {
		return now.Add(tidyAgain)
	}
	if err := reg.Dir().WriteNote(TidiedName, atomicfile.TimeText(now)); err != nil {
		reg.Log.Warn("the time of tidying was not recorded", "err", err)
	}
	return now.Add(TidyEvery)
}

// tidy removes rows and files that are useless. The result more is true if there is more to do.
func tidy(ctx context.Context, reg *sessions.Registry) (more bool, err error) {
	var idle []sessions.IdleRow
	err = reg.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) {
		idle = reg.Idle(rows)
		return reg.ForgetIdle(rows, idle), nil
	})
	if err != nil {
		return false, err
	}
	t := &tidying{reg: reg, old: map[string]bool{}, dead: map[string]bool{}, left: tidyMost}
	for name, dir := range map[string]**atomicfile.Dir{"sessions": &t.facts, owed.Directory: &t.owed, "archive": &t.archive} {
		if *dir, err = reg.SubIfThere(name); err != nil {
			return false, err
		}
		if *dir != nil {
			defer (*dir).Close()
		}
	}
	rows, err := reg.ReadRegistry()
	if err != nil {
		return false, err
	}
	errs := []error{t.locks(ctx, idle)}
	sids, err := t.untidy(rows)
	errs = append(errs, err)
	lines, err := owed.ReadDeadLines(reg)
	if err != nil {
		return false, errors.Join(append(errs, err)...)
	}
	for _, line := range lines {
		if d, ok := owed.ParseDead(line); ok {
			t.dead[d.SessionID] = true
		}
	}
	for _, sid := range sids {
		if t.left <= 0 || ctx.Err() != nil {
			return true, errors.Join(errs...)
		}
		errs = append(errs, t.session(ctx, sid)) // a broken mailbox does not stop the others
	}
	return false, errors.Join(append(errs, t.clientIDs(ctx))...)
}

// locks removes two kinds of files of sessions that have a row and have ended: those that the
// method marks lists, and free locks. The locks of the mailbox stay, because mail may come for a
// registered session at any time.
func (t *tidying) locks(ctx context.Context, idle []sessions.IdleRow) error {
	var errs []error
	for _, one := range idle {
		if t.reg.Now().Sub(one.Last) <= sessions.ForgetSoon || !mail.ValidName(one.SID) {
			continue
		}
		for _, at := range t.marks(ctx, one.SID) {
			if err := at.Dir.Remove(at.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		for _, at := range t.ownLocks(one.SID) {
			if at.Dir != nil {
				errs = append(errs, atomicfile.DiscardLock(at.Dir, at.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// marks lists a session's notes of its work and its answers. While the model has not answered some
// mail, the note of its last answer is not among them: without this note the mail would count as
// read.
func (t *tidying) marks(ctx context.Context, sid string) []inbox.Entry {
	all := []inbox.Entry{{Dir: t.reg.Dir(), Name: inbox.CalmName(sid)}, {Dir: t.reg.Dir(), Name: sessions.WorkName(sid)}}
	if sessions.Settled(ctx, t.reg, sid) {
		all = append(all, inbox.Entry{Dir: t.reg.Dir(), Name: sessions.AnsweredName(sid)})
	}
	return all
}

// ownLocks lists the locks of a session beside those of its mailbox.
func (t *tidying) ownLocks(sid string) []inbox.Entry {
	all := []inbox.Entry{{Dir: t.reg.Dir(), Name: sessions.RingLock(sid)}, {Dir: t.reg.Dir(), Name: sessions.ServerLock(sid)}, {Dir: t.facts, Name: sid + ".lock"}}
	if t.owed != nil {
		if _, err := t.owed.Stat(sid + owed.Suffix); errors.Is(err, fs.ErrNotExist) { // if there are records, a sender still waits for news
			all = append(all, inbox.Entry{Dir: t.owed, Name: sid + ".lock"})
		}
	}
	return all
}

// untidy returns the sessions without a row that have files to remove, or old facts.
func (t *tidying) untidy(rows []sessions.Row) (sids []string, err error) {
	found := map[string]bool{}
	var errs []error
	for _, in := range []struct {
		dir  *atomicfile.Dir
		ends []string
	}{
		{t.reg.Dir(), []string{".inbox.json", ".inbox.lock", ".lease", ".wake.lock", ".server.lock", sessions.WorkEnd, inbox.CalmEnd}},
		{t.archive, []string{".lock"}}, {t.facts, []string{".lock"}},
		{t.owed, []string{owed.Suffix, ".lock"}},
	} {
		if in.dir != nil {
			errs = append(errs, inbox.AddSessions(found, in.dir, in.ends...))
		}
	}
	if t.facts != nil {
		names, err := t.facts.Names()
		errs = append(errs, err)
		for _, name := range names {
			sid, ok := strings.CutSuffix(name, ".json")
			if info, err := t.facts.Stat(name); ok && err == nil && mail.ValidName(sid) && t.reg.Now().Sub(info.ModTime()) > factsAfter {
				found[sid], t.old[sid] = true, true
			}
		}
	}
	for sid := range found {
		if sessions.FindSID(rows, sid) < 0 && !sessions.IsPersonID(sid) && !sessions.IsExternalID(sid) && !sessions.IsHostID(sid) {
			sids = append(sids, sid)
		} else {
			delete(t.old, sid)
		}
	}
	slices.Sort(sids)
	return sids, errors.Join(errs...)
}

// session tidies the files of one session, if it has no row and no mail. Mail that was stored while
// the row was being removed becomes dead letters a day later, because no session would ever read
// it. Its senders get notices.
func (t *tidying) session(ctx context.Context, sid string) error {
	reg := t.reg
	box, err := reg.Mailbox(sid)
	if err != nil {
		return err
	}
	mail := false
	err = reg.Locks.With(ctx, sessions.RegistryLock, func() error {
		rows, err := reg.ReadRegistry()
		if err != nil || sessions.FindSID(rows, sid) >= 0 {
			return err
		}
		if mail = reg.HasMail(sid); mail {
			return nil
		}
		return t.empty(ctx, sid, box)
	})
	if err != nil || !mail || reg.Now().Sub(reg.LastChange(sid)) <= sessions.ForgetSoon {
		return err
	}
	t.left--
	if _, err := sweepMailbox(ctx, reg, sid); err != nil && ctx.Err() == nil { // the mail stays where it is
		reg.Log.Warn("mail of a forgotten session did not become dead letters", "session", sid, "err", err)
	}
	return nil
}

// empty tidies a session whose mailbox has no mail. The caller holds the registry's lock.
func (t *tidying) empty(ctx context.Context, sid string, box *inbox.Mailbox) error {
	reg := t.reg
	last, err := box.Changed()
	if err != nil {
		return err
	}
	unused := reg.Now().Sub(sessions.LastFactsChange(t.facts, sid, last))
	if some, err := box.Used(); err != nil || some && unused <= sessions.ForgetAfter {
		return err // notices may wait: keep them, because the session may come back soon
	}
	t.left--
	if err := t.dropNotices(ctx, sid); err != nil {
		return err
	}
	owed.CloseRecords(ctx, reg, sid, owed.WasSwept, func(mail.Message) bool { return true })
	_, err = box.DiscardButArchive(t.files(ctx, sid, unused)...)
	return err
}

// files lists the files of a session that are to be removed, except the files of its mailbox.
func (t *tidying) files(ctx context.Context, sid string, unused time.Duration) []inbox.Entry {
	all := append(t.ownLocks(sid), t.marks(ctx, sid)...)
	if t.old[sid] && unused > factsAfter && !t.dead[sid] { // dead letters need these facts if the session comes back
		all = append(all, inbox.Entry{Dir: t.facts, Name: sid + ".json"})
	}
	return all
}

// dropNotices empties a mailbox that holds only c2c's own messages.
func (t *tidying) dropNotices(ctx context.Context, sid string) error {
	return EmptyMailbox(ctx, t.reg, sid, func(messages []mail.Message) (n int, err error) {
		for n < len(messages) && messages[n].IsNotice() {
			n++
		}
		return n, nil
	})
}

// clientIDs removes the client ids that lead to a session without a row, facts and mail.
func (t *tidying) clientIDs(ctx context.Context) error {
	if t.facts == nil {
		return nil
	}
	p := &pruning{reg: t.reg, before: t.reg.Now().Add(-factsAfter), facts: t.facts, gone: map[string]bool{}}
	ids, err := t.facts.Sub("ids", false)
	return p.pruneNames(ctx, &p.ClientIDs, ids, err, "")
}
