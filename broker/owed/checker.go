package owed

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/wake"
)

// LockName is a lock file in the root. The process that holds it acts on the deadlines of the
// root's messages.
const LockName = "owed.lock"

// retryAfter is the time until the next try after something has failed. If a suspended process
// holds the lock of a mailbox, each try takes as long as sessions.KeepWait.
const retryAfter = time.Minute

// Checker acts on what is owed when its time has come: it tells senders, reminds sessions of
// answers, and takes expired messages out of mailboxes. The deadlines are in the waiting messages
// and in the records of owed answers. So nothing is lost when a Checker ends: the next one finds
// the same deadlines. Only one process of a root runs a Checker at a time (LockName). Two would do
// the same work twice, with the same effect.
type Checker struct {
	reg     *sessions.Registry
	look    sessions.Prober   // of the present Look
	authors *sessions.Authors // of the present Look
	all     []sessions.Row    // the sessions and the outboxes, in the present Look
	boxes   map[string]*boxMemory
	records map[string]*recordMemory
	told    map[string]bool      // ids of notices that need not be sent again
	toldAt  map[string]time.Time // when a session last got a notice
	asked   map[string]bool      // sessions whose old notices the method wasTold has read
	tries   tries
	waiting []Request // the requests for a notice that wait
	Once    bool      // set in a command, which looks only once
	Show    Show      // shows news on the desktop; may be nil
	// Carry carries the mail in the outbox for another project. If it is nil, that mail waits.
	Carry func(ctx context.Context, project string) error
}

// boxMemory is what a Checker remembers about one mailbox, so that it need not read a mailbox that
// has not changed.
type boxMemory struct {
	stamp    inbox.Stamp
	state    sessions.State
	ring     wake.Ring
	unread   []inbox.ArchiveRecord // what its session was handed, and its model has not answered
	archived atomicfile.Info       // of its archive; zero: it was not read
	mail     bool                  // mail waits in it, or is unread
	gone     time.Time             // when its session was first seen absent; zero: it is not absent
	opens    time.Time             // when the next held-back message in it may be handed over
	next     time.Time             // when to look even if nothing has changed; zero: never
	news     []News                // for the senders of its messages
}

// NewChecker makes a Checker that remembers nothing yet.
func NewChecker(reg *sessions.Registry) *Checker {
	return &Checker{reg: reg, boxes: map[string]*boxMemory{}, records: map[string]*recordMemory{}, told: map[string]bool{},
		toldAt: map[string]time.Time{}, asked: map[string]bool{}, tries: tries{}}
}

// OpenLock opens the lock file of the right to act on deadlines, but does not lock it.
func OpenLock(reg *sessions.Registry) (*atomicfile.Lock, error) {
	return atomicfile.OpenLocked(reg.Dir(), LockName)
}

// onceLimit bounds how long LookOnce works, because a person waits for the command.
const onceLimit = time.Second

// MayBeDue reports whether LookOnce may have work, which is rare. It costs one system call.
func MayBeDue(reg *sessions.Registry) bool { return reg.Due.UntilLook() == 0 }

// LookOnce acts on passed deadlines, unless a long-lived process of the root does this. Usually no
// deadline has passed, and LookOnce costs one system call. If it cannot finish in time, a command
// does the rest a minute later, or a long-lived process does.
func (c *Checker) LookOnce(ctx context.Context) error {
	if !MayBeDue(c.reg) {
		return nil
	}
	release, ok, err := sessions.TryLock(OpenLock(c.reg))
	if err != nil || !ok {
		return err
	}
	c.Once = true
	brief, cancel := context.WithTimeout(ctx, onceLimit)
	defer cancel()
	if _, err = c.Look(brief); ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, release())
}

// Look checks all deadlines once. It acts on each deadline that has passed, and returns the time
// until the next one; 0: no deadline is known. If it cannot read a mailbox, it goes on with the
// others.
func (c *Checker) Look(ctx context.Context) (wait time.Duration, err error) {
	rows, err := c.reg.Rows(ctx)
	if err != nil {
		return 0, err
	}
	c.look, c.authors, c.all = c.reg.Prober(), c.reg.Authors(rows), slices.Concat(rows, c.outboxes())
	mark := c.reg.Due.BeginLook(c.Once)
	next := sessions.Earlier(c.lookIntoMailboxes(ctx), c.lookIntoRecords(ctx))
	next, requests := sessions.Earlier(next, c.tellNews(ctx)), c.lookIntoRequests(ctx)
	if c.Once { // a lasting process checks the requests itself, so no command need look for them
		next = sessions.Earlier(next, requests)
	}
	if c.Once && ctx.Err() != nil { // the look was cut short: the rest is due soon
		next = sessions.Earlier(next, c.reg.Now().Add(retryAfter))
	}
	if c.Once || ctx.Err() == nil {
		mark.End(next)
	}
	if next = sessions.Earlier(next, requests); next.IsZero() {
		return 0, ctx.Err()
	}
	return max(next.Sub(c.reg.Now()), time.Millisecond), ctx.Err()
}

// lookIntoRequests sends the notices for which others have asked, and returns when to look again:
// when a client ends, that may close none of Files.
func (c *Checker) lookIntoRequests(ctx context.Context) (next time.Time) {
	var err error
	c.waiting, err = (&RequestChecker{c.reg, c.Show, c.tries}).Check(ctx)
	switch {
	case errors.Is(err, ErrUnsent): // no warning: this may last for days, and each warning would come again after a minute
		c.reg.Log.Debug("requests for notices are checked later", "err", err)
	case err != nil && ctx.Err() == nil:
		c.reg.Log.Warn("requests for notices are checked later", "err", err)
	}
	switch {
	case len(c.waiting) == 0:
		return next
	case c.Once:
		return c.reg.Now().Add(requestsOnce)
	}
	return c.reg.Now().Add(RequestsEvery)
}

// tries has the time of the last failure by what was tried.
type tries map[string]time.Time

// rests returns when something may be tried again; zero: now. A failure in the future does not
// count.
func (t tries) rests(what string, now time.Time) (again time.Time) {
	if since := now.Sub(t[what]); since >= 0 && since < retryAfter {
		again = t[what].Add(retryAfter)
	}
	return again
}

// try calls f, unless f has failed within the last minute. It logs the first of several failures.
// It returns when to try again; zero: f did not fail.
func (c *Checker) try(ctx context.Context, what, warning string, f func() error) (again time.Time) {
	if again = c.tries.rests(what, c.reg.Now()); !again.IsZero() {
		return again
	}
	err := f()
	if err == nil || ctx.Err() != nil {
		delete(c.tries, what)
		return time.Time{}
	}
	if c.tries[what].IsZero() {
		c.reg.Log.Warn(warning, "session", what, "err", err)
	}
	c.tries[what] = c.reg.Now()
	return c.reg.Now().Add(retryAfter)
}

// lookIntoMailboxes checks the mailboxes of all sessions, and the outboxes, and carries the mail for
// other projects. It returns when to check the next one.
func (c *Checker) lookIntoMailboxes(ctx context.Context) (next time.Time) {
	first := 0
	if c.Once && len(c.all) > 0 { // a command may have no time for all, so each begins with another one
		first = int(uint64(c.reg.Now().UnixNano()) % uint64(len(c.all)))
	}
	there := map[string]bool{}
	for i := range c.all {
		r := c.all[(first+i)%len(c.all)]
		sid := r.SID()
		if c.Once && ctx.Err() != nil {
			break
		}
		if !mail.ValidName(sid) || there[sid] {
			continue
		}
		there[sid] = true
		mem := c.boxes[sid]
		if mem == nil {
			mem = &boxMemory{}
			c.boxes[sid] = mem
		}
		if id, is := sessions.ProjectOf(sid); is && c.Carry != nil { // first, so that the sender of mail that has expired gets one notice
			next = sessions.Earlier(next, c.try(ctx, "carry "+sid, "mail for another project waits", func() error {
				ctx, cancel := context.WithTimeout(ctx, sessions.KeepWait) // a suspended process may hold a lock for days
				defer cancel()
				return c.Carry(ctx, id)
			}))
		}
		again := c.try(ctx, sid, "deadlines of a mailbox could not be checked", func() error { return c.lookInto(ctx, r, mem) })
		if !again.IsZero() {
			*mem = boxMemory{gone: mem.gone, next: again}
		}
		next = sessions.Earlier(next, mem.next)
	}
	maps.DeleteFunc(c.boxes, func(sid string, _ *boxMemory) bool { return !there[sid] })
	return next
}

// outboxes returns a row for each outbox of the root.
func (c *Checker) outboxes() (rows []sessions.Row) {
	names, err := c.reg.Dir().Names()
	if err != nil {
		c.reg.Log.Warn("expired mail for other machines is not noticed", "err", err)
	}
	for _, name := range names {
		if sid, isLock := strings.CutSuffix(name, ".inbox.lock"); isLock && sessions.IsHostID(sid) {
			var r sessions.Row
			r.SetText("session_id", sid)
			rows = append(rows, r)
		}
	}
	return rows
}

// lookInto checks one mailbox if it has changed, if a deadline has passed, or if mail waits in it
// and the state or the last ring of its session has changed. A command checks every mailbox that
// may have mail.
func (c *Checker) lookInto(ctx context.Context, r sessions.Row, mem *boxMemory) error {
	ctx, cancel := context.WithTimeout(ctx, sessions.KeepWait)
	defer cancel()
	box, err := c.reg.Mailbox(r.SID())
	if err != nil {
		return err
	}
	changed, err := c.findUnread(r.SID(), box, mem)
	if err != nil {
		return err
	}
	if mem.stamp == "" { // most mailboxes are empty, and a command must check hundreds cheaply
		if some, err := box.Used(); err != nil || !some && len(mem.unread) == 0 {
			mem.next = time.Time{}
			return err
		}
	}
	if c.Once {
		return c.act(ctx, c.look.Session(r), box, mem)
	}
	stamp, err := box.Stamp()
	if err != nil {
		return err
	}
	now := c.reg.Now()
	changed = changed || stamp != mem.stamp || !mem.next.IsZero() && !now.Before(mem.next)
	if !changed && !mem.mail {
		return nil
	}
	s := c.look.Session(r)
	if s.State != sessions.Absent {
		mem.gone = time.Time{}
	} else if mem.gone.IsZero() {
		mem.gone = now
	}
	if !changed && s.State == mem.state && s.LastRing == mem.ring {
		return nil
	}
	if !mem.opens.IsZero() && !now.Before(mem.opens) {
		if err := box.NotifyWatchers(ctx); err != nil {
			return err
		}
	}
	mem.stamp, mem.state, mem.ring = stamp, s.State, s.LastRing
	return c.act(ctx, s, box, mem)
}

// unreadFor is how long after the last hand-over a Checker still begins to look at the unanswered
// messages of a session. No notice about them comes later, unless a sender has set a longer time.
const unreadFor = 24 * time.Hour

// findUnread finds the messages that a session was handed and that its model has not answered. It
// reads the archive only if the archive has changed since the last call. The result changed means
// that the messages may be others than before.
func (c *Checker) findUnread(sid string, box *inbox.Mailbox, mem *boxMemory) (changed bool, err error) {
	before := len(mem.unread)
	last, told := sessions.LastAnswer(c.reg, sid)
	if !told {
		mem.unread, mem.archived = nil, atomicfile.Info{}
		return before > 0, nil
	}
	now, err := box.Archive().Changed()
	switch {
	case err != nil:
		return false, err
	case now == mem.archived:
		mem.unread = slices.DeleteFunc(mem.unread, func(r inbox.ArchiveRecord) bool { return last.After(mail.FromSeconds(r.DrainedAt)) })
		return len(mem.unread) < before, nil
	case mem.archived != atomicfile.Info{} || c.reg.Now().Sub(now.ModTime()) < unreadFor:
		if mem.unread, err = sessions.Unread(c.reg, sid); err != nil {
			return false, err
		}
	}
	mem.archived = now
	return true, nil
}

// act acts on the waiting mail of one mailbox, and on its unread mail.
func (c *Checker) act(ctx context.Context, s sessions.Session, box *inbox.Mailbox, mem *boxMemory) error {
	if len(mem.unread) > 0 {
		sessions.LookForAnswer(c.reg, s)
		if _, err := c.findUnread(s.ID, box, mem); err != nil {
			return err
		}
	}
	msgs, err := box.PeekAll(ctx)
	if err == nil && s.State == sessions.Remote {
		var leased []mail.Message
		leased, err = box.Held(ctx, inbox.ByRelay)
		msgs = append(leased, msgs...)
	}
	if err != nil {
		return err
	}
	now := c.reg.Now()
	mem.mail, mem.next, mem.opens, mem.news = len(msgs)+len(mem.unread) > 0, time.Time{}, time.Time{}, nil
	told, late := Quota{}, Quota{}
	var does sessions.State
	if len(mem.unread) > 0 {
		does = c.look.Now(s, false).Does
	}
	for _, r := range mem.unread {
		waits := slices.ContainsFunc(msgs, func(w mail.Message) bool { return w.ID == r.ID && w.SameSender(r.Message) }) // it was put back
		if !waits && late.Take(r.Message) {
			mem.add(debt{Message: r.Message, where: inArchive, to: s, does: does, gone: mem.gone, now: now})
		}
	}
	var expired []mail.Message
	var errs []error
	for _, m := range msgs {
		d := debt{Message: m, where: inMailbox, to: s, gone: mem.gone, now: now}
		opens := OpensAt(c.reg, s.ID, m)
		if !opens.IsZero() && !c.Once { // a command has ended by then
			mem.next, mem.opens = sessions.Earlier(mem.next, opens), sessions.Earlier(mem.opens, opens)
		}
		switch {
		case m.Expired(mail.Seconds(now)) && s.State != sessions.Remote:
			expired = append(expired, m)
		case m.Expired(mail.Seconds(now)): // it stays: that machine may have it, and its receipt may be under way
			if told.Take(m) {
				mem.add(d)
			}
		case m.Held != "" && !opens.IsZero():
			errs = append(errs, c.tellHeld(ctx, s.ID, m))
		case late.Take(m):
			mem.add(d)
		}
		if m.ExpiresAt != 0 && !m.Expired(mail.Seconds(now)) {
			mem.next = sessions.Earlier(mem.next, mail.FromSeconds(m.ExpiresAt))
		}
	}
	return errors.Join(append(errs, c.expire(ctx, s.ID, box, expired))...)
}

// add makes news of what is due of a debt, and notes when more of it is due.
func (mem *boxMemory) add(d debt) {
	reasons, next := d.due()
	mem.next = sessions.Earlier(mem.next, next)
	for _, reason := range reasons {
		mem.news = append(mem.news, News{Message: d.Message, Session: d.to, Reason: reason})
	}
}

// tellHeld sends the notices about a held message: its sender may have been killed before it sent
// them.
func (c *Checker) tellHeld(ctx context.Context, sid string, m mail.Message) error {
	key := "held\x00" + sid + "\x00" + m.ID
	if c.told[key] {
		return nil
	}
	err := TellHeld(ctx, c.reg, sid, m)
	c.told[key] = err == nil
	return err
}

// expire removes expired messages from a mailbox. Before that, it makes them dead letters and
// notifies their senders. So after a kill in between, the next look tries again.
func (c *Checker) expire(ctx context.Context, sid string, box *inbox.Mailbox, expired []mail.Message) error {
	if len(expired) == 0 {
		return nil
	}
	var dead []DeadLetter
	for _, m := range expired {
		if m.Ephemeral {
			m.Content, m.Extra = "", nil
		}
		dead = append(dead, DeadLetter{Reason: Expired, Message: m})
	}
	if err := AddDead(ctx, c.reg, sid, dead...); err != nil {
		return err
	}
	told := Quota{}
	var all []News
	for _, m := range expired {
		if n := (News{Message: m, Reason: Expired}); told.Take(m) && !c.wasTold(ctx, n) {
			all = append(all, n)
		}
	}
	TellSenders(ctx, c.reg, c.authors, all)
	err := box.Withdraw(ctx, expired...)
	if err == nil {
		CloseMessages(ctx, c.reg, sid, Expired, expired)
	}
	return err
}

// Files returns the files to watch. A process closes one of them when mail came or went, a session
// was rung, or its client has ended.
func (c *Checker) Files() []string {
	files := []string{filepath.Join(c.reg.Root(), sessions.RegistryLock)}
	if len(c.records) > 0 {
		files = append(files, filepath.Join(c.reg.Root(), Directory)) // a directory: watch all files in it
	}
	if len(c.waiting) > 0 {
		files = append(files, RequestFiles(c.reg, c.waiting)...)
	}
	for sid, mem := range c.boxes {
		names := []string{sid + ".inbox.lock"}
		if mem.mail {
			names = append(names, sessions.ServerLock(sid), sessions.RingLock(sid), filepath.Join("sessions", sid+".lock"))
		}
		for _, name := range names {
			path := filepath.Join(c.reg.Root(), name)
			if _, err := os.Stat(path); err == nil {
				files = append(files, path)
			}
		}
	}
	return files
}
