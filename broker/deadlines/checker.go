package deadlines

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"c2c/broker/loops"
	"c2c/broker/notice"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/locks"
	"c2c/sessions/registry"
	"c2c/wake"
)

const (

	// endedAfter is how long a session must be gone until it counts as ended: a client may be started anew.
	endedAfter = time.Minute

	// A mailbox with more than longMailbox messages is left alone for a millisecond for each: all are read, under the lock that
	// its senders and its hooks wait for.
	longMailbox = 1000
	// retryAfter is when a mailbox is looked at again that could not be looked into.
	retryAfter = time.Minute
)

// LockName is the file below the root whose lock the process has that acts on what messages are owed.
const LockName = "owed.lock"

// Checker acts on what messages are owed: their senders are told when they are not read in time, and they are not handed
// over any more when they have expired. What a message is owed follows from the message itself while it waits. So a
// send writes nothing for it, and nothing is lost with a Checker: another one finds the same. One process of a root
// has one at a time (LockName); two would do the same, once.
type Checker struct {
	reg    *sessions.Registry
	boxes  map[string]*boxMemory
	told   map[string]bool      // ids of notices that need not be tried again
	toldAt map[string]time.Time // when a session was told something last
	asked  map[string]bool      // sessions whose mailboxes have said which notices they had
	owed   map[string]*recordMemory
	Once   bool // it looks once and is gone
	Clock  clock

	Tidies time.Time // when the root is to be tidied; zero: not known yet
	spills time.Time // when it is to be looked at again whether an old version has left mail; zero: now
}

// boxMemory is what a Checker remembers of a mailbox, so that it reads only what has changed.
type boxMemory struct {
	stamp  inbox.Stamp
	state  sessions.State
	ring   wake.Ring
	mail   bool            // something waits in it
	gone   time.Time       // since when its session was seen to be absent; zero: it is not
	rest   time.Time       // until then it is looked at only when its time has come, because it is long
	opens  time.Time       // when the next message in it may be handed over that may not now; zero: none
	next   time.Time       // when it is to be looked at though nothing has changed; zero: never
	failed bool            // the last look into it failed, and that was logged
	news   []notice.News   // what the senders of its messages are to be told
	held   map[string]bool // ids of the held messages in it that both sides and their people were told about
}

// NewChecker is new: it knows of nothing that was done.
func NewChecker(reg *sessions.Registry) *Checker {
	return &Checker{reg: reg, boxes: map[string]*boxMemory{}, told: map[string]bool{}, toldAt: map[string]time.Time{}, asked: map[string]bool{}, owed: map[string]*recordMemory{},
		Clock: newClock()}
}

// onceLimit bounds how long a command looks: a person waits for it.
const onceLimit = time.Second

// MayBeDue says whether CheckOnce has anything to look at. As a rule it has not; that is one system call.
func MayBeDue(reg *sessions.Registry) bool { return reg.Due.UntilLook() == 0 }

// CheckOnce acts on deadlines that have passed, unless a process of the root does so all the time. As a rule none has, and it
// costs one system call. What it cannot finish in time is done a minute later, or by the next process that stays.
func CheckOnce(ctx context.Context, reg *sessions.Registry) error {
	if reg.Due.UntilLook() > 0 {
		return nil
	}
	lock, ok, err := tryLock(reg)
	if err != nil || !ok {
		return err
	}
	c := NewChecker(reg)
	c.Once = true
	brief, cancel := context.WithTimeout(ctx, onceLimit)
	defer cancel()
	if _, err = c.Look(brief); ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, lock())
}

// Look acts on each deadline that has passed, and says how long it is to the next one; 0: none is known. A mailbox that
// cannot be looked into stops no other.
func (c *Checker) Look(ctx context.Context) (wait time.Duration, err error) {
	rows, err := c.reg.Rows(ctx)
	if err != nil {
		return 0, err
	}
	if c.Clock.begin(c.reg.Now()) {
		clear(c.boxes)
		clear(c.owed)
		clear(c.toldAt)
		c.Tidies, c.spills = time.Time{}, time.Time{}
	}
	c.takeSpills(ctx)
	mark := c.reg.Due.BeginLook(c.Once)
	next := c.lookIntoAll(ctx, rows)
	answer, err := c.answers(ctx, rows)
	if err != nil && ctx.Err() == nil {
		c.reg.Log.Warn("late answers are not looked after", "err", err)
		answer = sessions.Earlier(answer, c.reg.Now().Add(retryAfter))
	}
	next = sessions.Earlier(sessions.Earlier(next, answer), c.tellNews(ctx, rows))
	if c.Once && ctx.Err() != nil { // the next command would not come further
		next = sessions.Earlier(next, c.reg.Now().Add(retryAfter))
	}
	if c.Once || ctx.Err() == nil {
		mark.End(next)
	}
	if !c.Once && !c.Clock.waits(c.reg.Now()) {
		c.tidy(ctx)
	}
	if next.IsZero() {
		return 0, ctx.Err()
	}
	return max(next.Sub(c.reg.Now()), time.Millisecond), ctx.Err()
}

// lookIntoAll looks into the mailboxes, and gives the time when the next of them is to be looked into.
func (c *Checker) lookIntoAll(ctx context.Context, rows []registry.Row) (next time.Time) {
	there := map[string]bool{}
	first := 0
	if c.Once && len(rows) > 0 { // there may be no time for all: each command begins with another one
		first = int(uint64(c.reg.Now().UnixNano()) % uint64(len(rows)))
	}
	for i := range rows {
		r := rows[(first+i)%len(rows)]
		sid := r.SID()
		if c.Once && ctx.Err() != nil {
			break
		}
		if !mail.ValidName(sid) || there[sid] {
			continue
		}
		there[sid] = true
		if c.boxes[sid] == nil {
			c.boxes[sid] = &boxMemory{}
		}
		if err := c.lookInto(ctx, rows, r, c.boxes[sid]); err != nil && ctx.Err() == nil {
			if !c.boxes[sid].failed {
				c.reg.Log.Warn("what messages are owed is not looked after", "session", sid, "err", err)
			}
			c.boxes[sid].failed, c.boxes[sid].next = true, c.reg.Now().Add(retryAfter)
		}
		next = sessions.Earlier(next, c.boxes[sid].next)
	}
	for sid := range c.boxes {
		if !there[sid] {
			delete(c.boxes, sid)
		}
	}
	return next
}

// lookInto looks at one mailbox if it has changed, or its time has come.
func (c *Checker) lookInto(ctx context.Context, rows []registry.Row, r registry.Row, mem *boxMemory) error {
	ctx, cancel := context.WithTimeout(ctx, sessions.KeepWait)
	defer cancel()
	box, err := c.reg.Mailbox(r.SID())
	if err != nil {
		return err
	}
	if mem.stamp == "" { // most of hundreds are empty: what a command does once must not cost much
		if some, err := box.Used(); err != nil || !some {
			mem.next = time.Time{}
			return err
		}
	}
	now := c.reg.Now()
	if c.Once {
		return c.readAll(ctx, rows, c.reg.Session(r), box, mem)
	}
	stamp, err := box.Stamp()
	if err != nil {
		return err
	}
	changed := stamp != mem.stamp
	due := !mem.next.IsZero() && !now.Before(mem.next)
	if !changed && !due && !mem.mail {
		return nil
	}
	if !due && now.Before(mem.rest) {
		mem.next = sessions.Earlier(mem.next, mem.rest)
		return nil
	}
	s := c.reg.Session(r)
	if s.State != sessions.Absent {
		mem.gone = time.Time{}
	} else if mem.gone.IsZero() {
		mem.gone = now
	}
	if !changed && !due && s.State == mem.state && s.LastRing == mem.ring {
		return nil
	}
	if !mem.opens.IsZero() && !now.Before(mem.opens) {
		if err := box.NotifyWatchers(ctx); err != nil {
			return err
		}
	}
	mem.stamp, mem.state, mem.ring = stamp, s.State, s.LastRing
	if err := c.readAll(ctx, rows, s, box, mem); err != nil {
		return err
	}
	mem.failed = false
	return nil
}

// readAll reads what waits in a mailbox, and acts on it.
func (c *Checker) readAll(ctx context.Context, rows []registry.Row, s sessions.Session, box *inbox.Mailbox, mem *boxMemory) error {
	now := c.reg.Now()
	msgs, err := box.PeekAll(ctx)
	if err != nil {
		mem.stamp = ""
		return err
	}
	mem.mail, mem.next, mem.opens = len(msgs) > 0, time.Time{}, time.Time{}
	if len(msgs) > longMailbox {
		mem.rest = now.Add(time.Duration(len(msgs)) * time.Millisecond)
	}
	return c.actOn(ctx, rows, s, box, mem, msgs)
}

// actOn acts on what waits in one mailbox.
func (c *Checker) actOn(ctx context.Context, rows []registry.Row, s sessions.Session, box *inbox.Mailbox, mem *boxMemory, msgs []mail.Message) error {
	now := c.reg.Now()
	var expired []mail.Message
	var errs []error
	unread := notice.Quota{}
	toldBefore := mem.held
	mem.news, mem.held = nil, map[string]bool{}
	if c.Clock.waits(now) {
		mem.next, mem.stamp = c.Clock.calm, ""
		return nil
	}
	for _, stored := range msgs {
		m := c.Clock.of(stored, now, c.Once)
		if m.Expired(mail.Seconds(now)) {
			expired = append(expired, stored)
			continue
		}
		if m.Owes() && m.Due > mail.Seconds(now) { // its record may be written behind this look
			mem.next = sessions.Earlier(mem.next, mail.FromSeconds(m.Due))
		}
		if m.ExpiresAt != 0 {
			mem.next = sessions.Earlier(mem.next, mail.FromSeconds(m.ExpiresAt))
		}
		opens := loops.OpensAt(c.reg, s.ID, m)
		if !opens.IsZero() && !c.Once { // nobody would be rung now
			mem.next, mem.opens = sessions.Earlier(mem.next, opens), sessions.Earlier(mem.opens, opens)
		}
		held := m.Held != "" && !opens.IsZero()
		if held {
			var err error
			if !toldBefore[m.ID] { // who held it may have been killed before it told anybody
				err = loops.TellAll(ctx, c.reg, s.ID, m)
			}
			mem.held[m.ID] = err == nil
			errs = append(errs, err)
		}
		if held || !unread.Take(m) {
			continue
		}
		for _, d := range deadlines(s, mem.gone, m, now) {
			if d.at.After(now) {
				mem.next = sessions.Earlier(mem.next, d.at)
			} else {
				mem.news = append(mem.news, notice.News{Message: m, Session: s, Reason: d.reason})
			}
		}
	}
	return errors.Join(append(errs, c.expire(ctx, rows, s.ID, box, expired))...)
}

// deadline is when the sender of a message is told something.
type deadline struct {
	reason string
	at     time.Time
}

// deadlines are those of a waiting message, beside that it expires. gone is since when its receiver was seen to be absent: a
// command, which looks once, does not know that.
func deadlines(s sessions.Session, gone time.Time, m mail.Message, now time.Time) (all []deadline) {
	unread := m.Time().Add(notice.UnreadAfter(s, m))
	ended := m.Time().Add(notice.TellAfterOf(m))
	if !gone.IsZero() {
		ended = sessions.Earlier(gone.Add(endedAfter), ended)
	}
	if r := s.LastRing; r.Outcome == wake.Refused && !r.At.Before(m.Time()) && !sessions.IsFuture(r.At, now) && len(wake.MayWake([]mail.Message{m})) > 0 {
		all = append(all, deadline{notice.Refused, r.At})
	}
	switch {
	case s.State == sessions.Absent && !m.ToAbsent: // then its sender is not told that it is unread, too
		all = append(all, deadline{notice.Ended, ended})
	case !m.Deferrable || m.TellAfter > 0: // else its sender wants it to wait
		all = append(all, deadline{notice.Unread, unread})
	}
	return all
}

// maxTold bounds of how many notices a Checker remembers that they were told.
const maxTold = 10_000

// wasTold says whether a session has had a notice, as far as that is known without trying it. A command that looks where no
// server does would try each again, which costs two syncs.
func (c *Checker) wasTold(ctx context.Context, sid, id string) bool {
	if len(c.told) > maxTold {
		clear(c.told)
		clear(c.asked)
	}
	if c.told[id] || c.asked[sid] {
		return c.told[id]
	}
	c.asked[sid] = true
	box, err := c.reg.Mailbox(sid)
	if err != nil {
		return false
	}
	found, _ := box.Search(ctx, inbox.Query{ // what cannot be read is tried
		Holds: sessions.Holds(sessions.SystemAlias),
		Match: func(m mail.Message) bool { return m.From == sessions.SystemAlias }, Limit: owed.OpenLook,
	})
	for _, f := range found {
		for _, id := range notice.NoticesIn(f.Message) {
			c.told[id] = true
		}
		if at := f.Message.Time(); f.Message.Deferrable && at.After(c.toldAt[sid]) && !at.After(c.reg.Now()) {
			c.toldAt[sid] = at
		}
	}
	return c.told[id]
}

// expire takes messages out of a mailbox that are not handed over any more. They become dead letters first, and their
// senders are told before they are gone from the mailbox: a kill in between costs a second try.
func (c *Checker) expire(ctx context.Context, rows []registry.Row, sid string, box *inbox.Mailbox, expired []mail.Message) error {
	if len(expired) == 0 {
		return nil
	}
	var dead []notice.DeadLetter
	for _, m := range expired {
		kept := m
		if m.Ephemeral {
			kept.Content, kept.Extra = "", nil
		}
		dead = append(dead, notice.DeadLetter{Reason: notice.Expired, Message: kept})
	}
	if err := notice.AddDead(ctx, c.reg, sid, dead...); err != nil {
		return err
	}
	told := notice.Quota{}
	var all []notice.News
	for _, m := range expired {
		n := notice.News{Message: m, Reason: notice.Expired}
		if !told.Take(m) {
			continue
		}
		if to := notice.SenderOf(c.reg, rows, m); to != nil && !c.wasTold(ctx, to.SID(), n.Notice()) { // by one that was killed behind it
			all = append(all, n)
		}
	}
	notice.TellSenders(ctx, c.reg, rows, all)
	err := box.Withdraw(ctx, expired...)
	if err == nil {
		owed.CloseMessages(ctx, c.reg, sid, notice.Expired, expired)
	}
	return err
}

// Files are those whose closing tells that there may be something to do: mail came or went, a session was rung, or its
// client has ended.
func (c *Checker) Files() []string {
	files := []string{filepath.Join(c.reg.Root(), registry.LockName)}
	if len(c.owed) > 0 {
		files = append(files, filepath.Join(c.reg.Root(), owed.Directory)) // a directory: any file of it
	}
	for sid, mem := range c.boxes {
		names := []string{sid + ".inbox.lock"}
		if mem.mail {
			names = append(names, locks.ServerLock(sid), locks.RingLock(sid), filepath.Join("sessions", sid+".lock"))
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

// OpenLock opens the right to act on what messages are owed, and does not take it.
func OpenLock(reg *sessions.Registry) (*filelock.Lock, error) {
	return filelock.Open(reg.Dir(), LockName)
}

// tryLock takes that right, if no other process has it.
func tryLock(reg *sessions.Registry) (release func() error, ok bool, err error) {
	return locks.TryLock(OpenLock(reg))
}
