package deadlines

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/wake"
)

const (
	// endedAfter is how long a session must be gone until it counts as ended. Before that, its client may be restarting.
	endedAfter = time.Minute

	// A look reads all messages of a mailbox under the lock that senders and hooks need. So after a look at more than longMailbox messages,
	// the Checker reads the mailbox again only if something is due, for one millisecond per message.
	longMailbox = 1000
	// retryAfter is the time until the next look at a mailbox after a look has failed. Until then the Checker does not touch the mailbox: if a
	// suspended process holds the lock of the mailbox, each look takes as long as sessions.KeepWait.
	retryAfter = time.Minute
)

// LockName is a lock file in the root. The process that holds it acts on the deadlines of the root's messages.
const LockName = "owed.lock"

// Checker acts on the deadlines of messages: it notifies senders of messages that are not read in time, and takes expired messages out of
// mailboxes. The deadlines are in the waiting messages themselves. So a send writes nothing else for them, and nothing is lost when a
// Checker ends: the next Checker finds the same deadlines. Only one process of a root runs a Checker at a time (LockName). Two would do the
// same work twice, with the same effect.
type Checker struct {
	reg    *sessions.Registry
	look   sessions.Prober // of the present Look
	boxes  map[string]*boxMemory
	told   map[string]bool      // ids of notices that were sent and need not be sent again
	toldAt map[string]time.Time // when a session last got a notice
	asked  map[string]bool      // sessions whose old notices the method wasTold has read
	untold map[string]time.Time // when to try again to send notices to a session
	owed   map[string]*recordMemory
	Once   bool // set in a command, which looks only once
	Clock  clock

	Tidies time.Time // when to tidy the root; zero: not known yet
}

// boxMemory is what a Checker remembers about one mailbox, so that it need not read a mailbox that has not changed.
type boxMemory struct {
	stamp      inbox.Stamp
	state      sessions.State
	ring       wake.Ring
	unread     []inbox.ArchiveRecord // what its session was handed, and its model has not answered
	archived   time.Time             // when its archive was last changed, as of the last read of unread; zero: nothing was read
	size       int64                 // and how long the archive was
	mail       bool                  // mail waits in it, or is unread
	gone       time.Time             // when its session was first seen absent; zero: it is not absent
	pauseUntil time.Time             // for a long mailbox: before this time c2c reads it only if something is due
	opens      time.Time             // when the next held-back message in it may be handed over; zero: none
	next       time.Time             // when to look even if nothing has changed; zero: never
	failed     bool                  // the last look failed, and that was logged; the Checker looks again at the time next
	news       []owed.News           // for the senders of its messages
	held       map[string]bool       // ids of held messages in it about which loops.TellAll has sent the notices
}

// NewChecker makes a Checker that remembers nothing yet.
func NewChecker(reg *sessions.Registry) *Checker {
	return &Checker{reg: reg, boxes: map[string]*boxMemory{}, told: map[string]bool{}, toldAt: map[string]time.Time{}, asked: map[string]bool{}, untold: map[string]time.Time{},
		owed: map[string]*recordMemory{}, Clock: newClock()}
}

// onceLimit bounds how long CheckOnce works, because a person waits for the command.
const onceLimit = time.Second

// MayBeDue reports whether CheckOnce may have work, which is rare. It costs one system call.
func MayBeDue(reg *sessions.Registry) bool { return reg.Due.UntilLook() == 0 }

// CheckOnce acts on passed deadlines, unless a long-lived process of the root does this. Usually no deadline has passed, and
// CheckOnce costs one system call. If it cannot finish in time, a command does the rest a minute later, or a long-lived process does.
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

// Look checks all deadlines once. It acts on each deadline that has passed, and returns the time until the next one; 0: no deadline is
// known. If it cannot read a mailbox, it goes on with the others. It also tidies the root.
func (c *Checker) Look(ctx context.Context) (wait time.Duration, err error) {
	rows, err := c.reg.Rows(ctx)
	if err != nil {
		return 0, err
	}
	if c.Clock.begin(c.reg.Now()) {
		clear(c.boxes)
		clear(c.owed)
		clear(c.toldAt)
		clear(c.untold)
		c.Tidies = time.Time{}
	}
	c.look = c.reg.Prober()
	mark := c.reg.Due.BeginLook(c.Once)
	next := sessions.Earlier(c.lookIntoAll(ctx, rows), c.lookIntoOutboxes(ctx, rows))
	answer, err := c.lookIntoRecords(ctx, rows)
	if err != nil && ctx.Err() == nil {
		c.reg.Log.Warn("deadlines of answers could not be checked", "err", err)
		answer = sessions.Earlier(answer, c.reg.Now().Add(retryAfter))
	}
	next = sessions.Earlier(sessions.Earlier(next, answer), c.tellNews(ctx, rows))
	if c.Once && ctx.Err() != nil { // the look was cut short: the rest is due soon
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

// lookIntoAll checks the mailboxes, and returns when the next one must be checked.
func (c *Checker) lookIntoAll(ctx context.Context, rows []sessions.Row) (next time.Time) {
	there := map[string]bool{}
	first := 0
	if c.Once && len(rows) > 0 { // a command may have no time for all mailboxes, so each command begins with another one
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
				c.reg.Log.Warn("deadlines of a mailbox could not be checked", "session", sid, "err", err)
			}
			c.boxes[sid].failed, c.boxes[sid].next = true, c.reg.Now().Add(retryAfter)
		}
		next = sessions.Earlier(next, c.boxes[sid].next)
	}
	for sid := range c.boxes {
		if !there[sid] && !strings.HasPrefix(sid, sessions.HostPrefix) {
			delete(c.boxes, sid)
		}
	}
	return next
}

// lookInto checks one mailbox if it has changed, if a check is due, or if mail waits in it and the state or the last ring of its session
// has changed. A command checks every mailbox that may have mail.
func (c *Checker) lookInto(ctx context.Context, rows []sessions.Row, r sessions.Row, mem *boxMemory) error {
	if mem.failed && c.reg.Now().Before(mem.next) {
		return nil
	}
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
			mem.next, mem.failed = time.Time{}, false
			return err
		}
	}
	now := c.reg.Now()
	if c.Once {
		return c.readAll(ctx, rows, c.look.Session(r), box, mem)
	}
	stamp, err := box.Stamp()
	if err != nil {
		return err
	}
	changed = changed || stamp != mem.stamp
	due := !mem.next.IsZero() && !now.Before(mem.next)
	if !changed && !due && !mem.mail {
		return nil
	}
	if !due && now.Before(mem.pauseUntil) {
		mem.next = sessions.Earlier(mem.next, mem.pauseUntil)
		return nil
	}
	s := c.look.Session(r)
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

// unreadFor is how long after the last hand-over a Checker still begins to look at the unanswered messages of a session. No notice about
// them comes later, unless a sender has set a longer time.
const unreadFor = 24 * time.Hour

// findUnread finds the messages that a session was handed and that its model has not answered. It reads the archive only if the archive
// has changed since the last call. The result changed means that the messages may be others than before.
func (c *Checker) findUnread(sid string, box *inbox.Mailbox, mem *boxMemory) (changed bool, err error) {
	before := len(mem.unread)
	last, told := sessions.LastAnswer(c.reg, sid)
	if !told {
		mem.unread, mem.archived = nil, time.Time{}
		return before > 0, nil
	}
	at, size, err := box.Archive().Changed()
	switch {
	case err != nil:
		return false, err
	case at.Equal(mem.archived) && size == mem.size:
		mem.unread = slices.DeleteFunc(mem.unread, func(r inbox.ArchiveRecord) bool { return last.After(mail.FromSeconds(r.DrainedAt)) })
		return len(mem.unread) < before, nil
	case !mem.archived.IsZero() || c.reg.Now().Sub(at) < unreadFor:
		if mem.unread, err = sessions.Unread(c.reg, sid); err != nil {
			return false, err
		}
	}
	mem.archived, mem.size = at, size
	return true, nil
}

// readAll reads the waiting mail of a mailbox, and acts on it.
func (c *Checker) readAll(ctx context.Context, rows []sessions.Row, s sessions.Session, box *inbox.Mailbox, mem *boxMemory) error {
	now := c.reg.Now()
	if len(mem.unread) > 0 {
		sessions.LookForAnswer(c.reg, s)
		if _, err := c.findUnread(s.ID, box, mem); err != nil {
			return err
		}
	}
	msgs, err := box.PeekAll(ctx)
	if err != nil {
		mem.stamp = ""
		return err
	}
	mem.mail, mem.next, mem.opens = len(msgs)+len(mem.unread) > 0, time.Time{}, time.Time{}
	if len(msgs) > longMailbox {
		mem.pauseUntil = now.Add(time.Duration(len(msgs)) * time.Millisecond)
	}
	return c.actOn(ctx, rows, s, box, mem, msgs)
}

// actOn acts on the waiting mail of one mailbox, and on its unread mail.
func (c *Checker) actOn(ctx context.Context, rows []sessions.Row, s sessions.Session, box *inbox.Mailbox, mem *boxMemory, msgs []mail.Message) error {
	now := c.reg.Now()
	var expired []mail.Message
	var errs []error
	unread, toldBefore := owed.Quota{}, mem.held
	mem.news, mem.held = nil, map[string]bool{}
	if c.Clock.waits(now) {
		mem.next, mem.stamp = c.Clock.calm, ""
		return nil
	}
	handed := s
	handed.LastRing = wake.Ring{} // whatever became of the ring, these messages were handed over
	works := len(mem.unread) > 0 && isInTurn(c.reg, s)
	if works {
		mem.next = now.Add(turnAgain)
	}
	for _, r := range mem.unread {
		if works {
			break // no hook tells that the model has answered before its tool has ended, which may stand at a dialog
		}
		waits := slices.ContainsFunc(msgs, func(w mail.Message) bool { return w.ID == r.ID && w.SameSender(r.Message) }) // it was put back
		if m := c.Clock.corrected(r.Message, now, c.Once); !waits && unread.Take(m) {
			mem.expect(handed, m, now)
		}
	}
	for _, stored := range msgs {
		m := c.Clock.corrected(stored, now, c.Once)
		if m.Expired(mail.Seconds(now)) {
			expired = append(expired, stored)
			continue
		}
		if m.Owes() && m.Due > mail.Seconds(now) { // look again then: the record of m may not be written yet
			mem.next = sessions.Earlier(mem.next, mail.FromSeconds(m.Due))
		}
		if m.ExpiresAt != 0 {
			mem.next = sessions.Earlier(mem.next, mail.FromSeconds(m.ExpiresAt))
		}
		opens := owed.OpensAt(c.reg, s.ID, m)
		if !opens.IsZero() && !c.Once { // a command has ended by then
			mem.next, mem.opens = sessions.Earlier(mem.next, opens), sessions.Earlier(mem.opens, opens)
		}
		held := m.Held != "" && !opens.IsZero()
		if held {
			var err error
			if !toldBefore[m.ID] { // the sender may have been killed before it sent the notices
				err = owed.TellHeldToAll(ctx, c.reg, s.ID, m)
			}
			mem.held[m.ID] = err == nil
			errs = append(errs, err)
		}
		if !held && unread.Take(m) {
			mem.expect(s, m, now)
		}
	}
	return errors.Join(append(errs, c.expire(ctx, rows, s.ID, box, expired))...)
}

// turnAgain is when a Checker looks again at the unanswered messages of a session that is in a turn.
const turnAgain = time.Minute

// isInTurn reports whether a turn of a session runs, perhaps with an open dialog.
func isInTurn(reg *sessions.Registry, s sessions.Session) bool {
	does := reg.Prober().Now(s, false).Does
	return does == sessions.Busy || does == sessions.Waiting
}

// expect notes the deadlines of a waiting message. A deadline that has passed becomes news for the message's sender.
func (mem *boxMemory) expect(s sessions.Session, m mail.Message, now time.Time) {
	for _, d := range deadlines(s, mem.gone, m, now) {
		if d.at.After(now) {
			mem.next = sessions.Earlier(mem.next, d.at)
		} else {
			mem.news = append(mem.news, owed.News{Message: m, Session: s, Reason: d.reason})
		}
	}
}

// deadline is a time at which the sender of a message gets a notice, and the reason.
type deadline struct {
	reason string
	at     time.Time
}

// deadlines returns the deadlines of a waiting message, except its expiry. The argument gone is the time when the receiver was first seen
// absent. It is zero if the receiver is not absent, and in a command, which looks only once.
func deadlines(s sessions.Session, gone time.Time, m mail.Message, now time.Time) (all []deadline) {
	unread := m.Time().Add(owed.UnreadAfter(s, m))
	ended := m.Time().Add(owed.TellAfterOf(m))
	if !gone.IsZero() {
		ended = sessions.Earlier(gone.Add(endedAfter), ended)
	}
	if r := s.LastRing; r.Outcome == wake.Refused && !r.At.Before(m.Time()) && !sessions.IsFuture(r.At, now) && len(wake.MayWake([]mail.Message{m})) > 0 {
		all = append(all, deadline{owed.Refused, r.At})
	}
	switch {
	case s.State == sessions.Absent && !m.ToAbsent: // the sender gets this notice, and none that m is unread
		all = append(all, deadline{owed.Ended, ended})
	case !m.Deferrable || m.TellAfter > 0: // not for a deferrable message whose sender has set no time for a notice
		all = append(all, deadline{owed.Unread, unread})
	}
	return all
}

// maxTold bounds how many notices a Checker remembers as sent.
const maxTold = 10_000

// wasTold reports whether the session sid has got the notice with this id, as far as c2c knows. In a root without a long-lived process,
// each command would otherwise send all notices again, with two syncs each.
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
	found, _ := box.Search(ctx, inbox.Query{ // if the search fails, the notice is sent again
		Holds: sessions.Holds(sessions.SystemAlias),
		Match: func(m mail.Message) bool { return m.From == sessions.SystemAlias }, Limit: owed.OpenLook, Wait: sessions.KeepWait,
	})
	for _, f := range found {
		for _, id := range owed.NoticesIn(f.Message) {
			c.told[id] = true
		}
		if at := f.Message.Time(); f.Message.Deferrable && at.After(c.toldAt[sid]) && !at.After(c.reg.Now()) {
			c.toldAt[sid] = at
		}
	}
	return c.told[id]
}

// expire removes expired messages from a mailbox. Before that, it makes them dead letters and notifies their senders. So after a kill in
// between, the next look tries again.
func (c *Checker) expire(ctx context.Context, rows []sessions.Row, sid string, box *inbox.Mailbox, expired []mail.Message) error {
	if len(expired) == 0 {
		return nil
	}
	var dead []owed.DeadLetter
	for _, m := range expired {
		kept := m
		if m.Ephemeral {
			kept.Content, kept.Extra = "", nil
		}
		dead = append(dead, owed.DeadLetter{Reason: owed.Expired, Message: kept})
	}
	if err := owed.AddDead(ctx, c.reg, sid, dead...); err != nil {
		return err
	}
	told := owed.Quota{}
	var all []owed.News
	for _, m := range expired {
		n := owed.News{Message: m, Reason: owed.Expired}
		if !told.Take(m) {
			continue
		}
		if to := owed.SenderOf(c.reg, rows, m); to != nil && !c.wasTold(ctx, to.SID(), n.Notice()) { // an earlier look may have sent the notice
			all = append(all, n)
		}
	}
	owed.TellSenders(ctx, c.reg, rows, all)
	err := box.Withdraw(ctx, expired...)
	if err == nil {
		owed.CloseMessages(ctx, c.reg, sid, owed.Expired, expired)
	}
	return err
}

// Files returns the files to watch. A process closes one of them when mail came or went, a session was rung, or its client has ended.
func (c *Checker) Files() []string {
	files := []string{filepath.Join(c.reg.Root(), sessions.RegistryLock)}
	if len(c.owed) > 0 {
		files = append(files, filepath.Join(c.reg.Root(), owed.Directory)) // a directory: watch all files in it
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

// OpenLock opens the lock file of the right to act on deadlines, but does not lock it.
func OpenLock(reg *sessions.Registry) (*atomicfile.Lock, error) {
	return atomicfile.OpenLocked(reg.Dir(), LockName)
}

// tryLock takes the right to act on deadlines, if it is free.
func tryLock(reg *sessions.Registry) (release func() error, ok bool, err error) {
	return sessions.TryLock(OpenLock(reg))
}
