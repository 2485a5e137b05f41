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

	// A mailbox with more than keptLong messages is left alone for a millisecond for each: all are read, under the lock that
	// its senders and its hooks wait for.
	keptLong = 1000
	// keepAgain is when a mailbox is looked at again that could not be looked into.
	keepAgain = time.Minute
)

// KeeperLock is the file below the root whose lock the process has that acts on what messages are owed.
const KeeperLock = "owed.lock"

// Keeper acts on what messages are owed: their senders are told when they are not read in time, and they are not handed
// over any more when they have expired. What a message is owed follows from the message itself while it waits. So a
// send writes nothing for it, and nothing is lost with a Keeper: another one finds the same. One process of a root
// has one at a time (KeeperLock); two would do the same, once.
type Keeper struct {
	reg    *sessions.Registry
	boxes  map[string]*keptBox
	told   map[string]bool      // ids of notices that need not be tried again
	toldAt map[string]time.Time // when a session was told something last
	asked  map[string]bool      // sessions whose mailboxes have said which notices they had
	owed   map[string]*keptOwed
	Once   bool // it looks once and is gone
	Clock  keeperClock

	Tidies time.Time // when the root is to be tidied; zero: not known yet
	spills time.Time // when it is to be looked at again whether an old version has left mail; zero: now
}

// keptBox is what a Keeper remembers of a mailbox, so that it reads only what has changed.
type keptBox struct {
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

// NewKeeper is new: it knows of nothing that was done.
func NewKeeper(reg *sessions.Registry) *Keeper {
	return &Keeper{reg: reg, boxes: map[string]*keptBox{}, told: map[string]bool{}, toldAt: map[string]time.Time{}, asked: map[string]bool{}, owed: map[string]*keptOwed{},
		Clock: newKeeperClock()}
}

// keepBrief bounds how long a command looks: a person waits for it.
const keepBrief = time.Second

// MayBeDue says whether KeepOnce has anything to look at. As a rule it has not; that is one system call.
func MayBeDue(reg *sessions.Registry) bool { return reg.Due.UntilLook() == 0 }

// KeepOnce acts on deadlines that have passed, unless a process of the root does so all the time. As a rule none has, and it
// costs one system call. What it cannot finish in time is done a minute later, or by the next process that stays.
func KeepOnce(ctx context.Context, reg *sessions.Registry) error {
	if reg.Due.UntilLook() > 0 {
		return nil
	}
	lock, ok, err := tryKeeping(reg)
	if err != nil || !ok {
		return err
	}
	k := NewKeeper(reg)
	k.Once = true
	brief, cancel := context.WithTimeout(ctx, keepBrief)
	defer cancel()
	if _, err = k.Look(brief); ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, lock())
}

// Look acts on each deadline that has passed, and says how long it is to the next one; 0: none is known. A mailbox that
// cannot be looked into stops no other.
func (k *Keeper) Look(ctx context.Context) (wait time.Duration, err error) {
	rows, err := k.reg.Rows(ctx)
	if err != nil {
		return 0, err
	}
	if k.Clock.begin(k.reg.Now()) {
		clear(k.boxes)
		clear(k.owed)
		clear(k.toldAt)
		k.Tidies, k.spills = time.Time{}, time.Time{}
	}
	k.takeSpills(ctx)
	mark := k.reg.Due.BeginLook(k.Once)
	next := k.lookIntoAll(ctx, rows)
	answer, err := k.answers(ctx, rows)
	if err != nil && ctx.Err() == nil {
		k.reg.Log.Warn("late answers are not looked after", "err", err)
		answer = sessions.Earlier(answer, k.reg.Now().Add(keepAgain))
	}
	next = sessions.Earlier(sessions.Earlier(next, answer), k.tellNews(ctx, rows))
	if k.Once && ctx.Err() != nil { // the next command would not come further
		next = sessions.Earlier(next, k.reg.Now().Add(keepAgain))
	}
	if k.Once || ctx.Err() == nil {
		mark.End(next)
	}
	if !k.Once && !k.Clock.waits(k.reg.Now()) {
		k.tidy(ctx)
	}
	if next.IsZero() {
		return 0, ctx.Err()
	}
	return max(next.Sub(k.reg.Now()), time.Millisecond), ctx.Err()
}

// lookIntoAll looks into the mailboxes, and gives the time when the next of them is to be looked into.
func (k *Keeper) lookIntoAll(ctx context.Context, rows []registry.Row) (next time.Time) {
	there := map[string]bool{}
	first := 0
	if k.Once && len(rows) > 0 { // there may be no time for all: each command begins with another one
		first = int(uint64(k.reg.Now().UnixNano()) % uint64(len(rows)))
	}
	for i := range rows {
		r := rows[(first+i)%len(rows)]
		sid := r.SID()
		if k.Once && ctx.Err() != nil {
			break
		}
		if !mail.ValidName(sid) || there[sid] {
			continue
		}
		there[sid] = true
		if k.boxes[sid] == nil {
			k.boxes[sid] = &keptBox{}
		}
		if err := k.lookInto(ctx, rows, r, k.boxes[sid]); err != nil && ctx.Err() == nil {
			if !k.boxes[sid].failed {
				k.reg.Log.Warn("what messages are owed is not looked after", "session", sid, "err", err)
			}
			k.boxes[sid].failed, k.boxes[sid].next = true, k.reg.Now().Add(keepAgain)
		}
		next = sessions.Earlier(next, k.boxes[sid].next)
	}
	for sid := range k.boxes {
		if !there[sid] {
			delete(k.boxes, sid)
		}
	}
	return next
}

// lookInto looks at one mailbox if it has changed, or its time has come.
func (k *Keeper) lookInto(ctx context.Context, rows []registry.Row, r registry.Row, kept *keptBox) error {
	ctx, cancel := context.WithTimeout(ctx, sessions.KeepWait)
	defer cancel()
	box, err := k.reg.Mailbox(r.SID())
	if err != nil {
		return err
	}
	if kept.stamp == "" { // most of hundreds are empty: what a command does once must not cost much
		if some, err := box.Used(); err != nil || !some {
			kept.next = time.Time{}
			return err
		}
	}
	now := k.reg.Now()
	if k.Once {
		return k.readAll(ctx, rows, k.reg.Session(r), box, kept)
	}
	stamp, err := box.Stamp()
	if err != nil {
		return err
	}
	changed := stamp != kept.stamp
	due := !kept.next.IsZero() && !now.Before(kept.next)
	if !changed && !due && !kept.mail {
		return nil
	}
	if !due && now.Before(kept.rest) {
		kept.next = sessions.Earlier(kept.next, kept.rest)
		return nil
	}
	s := k.reg.Session(r)
	if s.State != sessions.Absent {
		kept.gone = time.Time{}
	} else if kept.gone.IsZero() {
		kept.gone = now
	}
	if !changed && !due && s.State == kept.state && s.LastRing == kept.ring {
		return nil
	}
	if !kept.opens.IsZero() && !now.Before(kept.opens) {
		if err := box.NotifyWatchers(ctx); err != nil {
			return err
		}
	}
	kept.stamp, kept.state, kept.ring = stamp, s.State, s.LastRing
	if err := k.readAll(ctx, rows, s, box, kept); err != nil {
		return err
	}
	kept.failed = false
	return nil
}

// readAll reads what waits in a mailbox, and acts on it.
func (k *Keeper) readAll(ctx context.Context, rows []registry.Row, s sessions.Session, box *inbox.Mailbox, kept *keptBox) error {
	now := k.reg.Now()
	msgs, err := box.PeekAll(ctx)
	if err != nil {
		kept.stamp = ""
		return err
	}
	kept.mail, kept.next, kept.opens = len(msgs) > 0, time.Time{}, time.Time{}
	if len(msgs) > keptLong {
		kept.rest = now.Add(time.Duration(len(msgs)) * time.Millisecond)
	}
	return k.settle(ctx, rows, s, box, kept, msgs)
}

// settle acts on what waits in one mailbox.
func (k *Keeper) settle(ctx context.Context, rows []registry.Row, s sessions.Session, box *inbox.Mailbox, kept *keptBox, msgs []mail.Message) error {
	now := k.reg.Now()
	var expired []mail.Message
	var errs []error
	unread := notice.Quota{}
	toldBefore := kept.held
	kept.news, kept.held = nil, map[string]bool{}
	if k.Clock.waits(now) {
		kept.next, kept.stamp = k.Clock.calm, ""
		return nil
	}
	for _, stored := range msgs {
		m := k.Clock.of(stored, now, k.Once)
		if m.Expired(mail.Seconds(now)) {
			expired = append(expired, stored)
			continue
		}
		if m.Owes() && m.Due > mail.Seconds(now) { // its record may be written behind this look
			kept.next = sessions.Earlier(kept.next, mail.FromSeconds(m.Due))
		}
		if m.ExpiresAt != 0 {
			kept.next = sessions.Earlier(kept.next, mail.FromSeconds(m.ExpiresAt))
		}
		opens := loops.OpensAt(k.reg, s.ID, m)
		if !opens.IsZero() && !k.Once { // nobody would be rung now
			kept.next, kept.opens = sessions.Earlier(kept.next, opens), sessions.Earlier(kept.opens, opens)
		}
		held := m.Held != "" && !opens.IsZero()
		if held {
			var err error
			if !toldBefore[m.ID] { // who held it may have been killed before it told anybody
				err = loops.TellAll(ctx, k.reg, s.ID, m)
			}
			kept.held[m.ID] = err == nil
			errs = append(errs, err)
		}
		if held || !unread.Take(m) {
			continue
		}
		for _, d := range deadlines(s, kept.gone, m, now) {
			if d.at.After(now) {
				kept.next = sessions.Earlier(kept.next, d.at)
			} else {
				kept.news = append(kept.news, notice.News{Message: m, Session: s, Reason: d.reason})
			}
		}
	}
	return errors.Join(append(errs, k.expire(ctx, rows, s.ID, box, expired))...)
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

// keptTold bounds of how many notices a Keeper remembers that they were told.
const keptTold = 10_000

// wasTold says whether a session has had a notice, as far as that is known without trying it. A command that looks where no
// server does would try each again, which costs two syncs.
func (k *Keeper) wasTold(ctx context.Context, sid, id string) bool {
	if len(k.told) > keptTold {
		clear(k.told)
		clear(k.asked)
	}
	if k.told[id] || k.asked[sid] {
		return k.told[id]
	}
	k.asked[sid] = true
	box, err := k.reg.Mailbox(sid)
	if err != nil {
		return false
	}
	found, _ := box.Search(ctx, inbox.Query{ // what cannot be read is tried
		Holds: sessions.Holds(sessions.SystemAlias),
		Match: func(m mail.Message) bool { return m.From == sessions.SystemAlias }, Limit: owed.OpenLook,
	})
	for _, f := range found {
		for _, id := range notice.NoticesIn(f.Message) {
			k.told[id] = true
		}
		if at := f.Message.Time(); f.Message.Deferrable && at.After(k.toldAt[sid]) && !at.After(k.reg.Now()) {
			k.toldAt[sid] = at
		}
	}
	return k.told[id]
}

// expire takes messages out of a mailbox that are not handed over any more. They become dead letters first, and their
// senders are told before they are gone from the mailbox: a kill in between costs a second try.
func (k *Keeper) expire(ctx context.Context, rows []registry.Row, sid string, box *inbox.Mailbox, expired []mail.Message) error {
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
	if err := notice.AddDead(ctx, k.reg, sid, dead...); err != nil {
		return err
	}
	told := notice.Quota{}
	var all []notice.News
	for _, m := range expired {
		n := notice.News{Message: m, Reason: notice.Expired}
		if !told.Take(m) {
			continue
		}
		if to := notice.SenderOf(k.reg, rows, m); to != nil && !k.wasTold(ctx, to.SID(), n.Notice()) { // by one that was killed behind it
			all = append(all, n)
		}
	}
	notice.TellSenders(ctx, k.reg, rows, all)
	err := box.Withdraw(ctx, expired...)
	if err == nil {
		owed.CloseMessages(ctx, k.reg, sid, notice.Expired, expired)
	}
	return err
}

// Files are those whose closing tells that there may be something to do: mail came or went, a session was rung, or its
// client has ended.
func (k *Keeper) Files() []string {
	files := []string{filepath.Join(k.reg.Root(), registry.LockName)}
	if len(k.owed) > 0 {
		files = append(files, filepath.Join(k.reg.Root(), owed.Directory)) // a directory: any file of it
	}
	for sid, kept := range k.boxes {
		names := []string{sid + ".inbox.lock"}
		if kept.mail {
			names = append(names, locks.ServerLock(sid), locks.RingLock(sid), filepath.Join("sessions", sid+".lock"))
		}
		for _, name := range names {
			path := filepath.Join(k.reg.Root(), name)
			if _, err := os.Stat(path); err == nil {
				files = append(files, path)
			}
		}
	}
	return files
}

// Keeping opens the right to act on what messages are owed, and does not take it.
func Keeping(reg *sessions.Registry) (*filelock.Lock, error) {
	return filelock.Open(reg.Dir(), KeeperLock)
}

// tryKeeping takes that right, if no other process has it.
func tryKeeping(reg *sessions.Registry) (release func() error, ok bool, err error) {
	return locks.TryLock(Keeping(reg))
}
