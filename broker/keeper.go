package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

const (
	// TellAfter is how long a message may wait before its sender is told, unless the sender says otherwise.
	TellAfter = 30 * time.Minute
	// tellQuiet and tellAbsent are how long, where its sender knows why: the receiver does not want to be disturbed, or was
	// absent already when the message was sent, and the receipt said so.
	tellQuiet  = 4 * time.Hour
	tellAbsent = 24 * time.Hour
	// endedAfter is how long a session must be gone until it counts as ended: a client may be started anew.
	endedAfter = time.Minute
	// keepWait bounds how long one mailbox may keep the others waiting.
	keepWait = 2 * time.Second
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
	b      *Broker
	boxes  map[string]*keptBox
	told   map[string]bool      // ids of notices that need not be tried again
	toldAt map[string]time.Time // when a session was told something last
	asked  map[string]bool      // sessions whose mailboxes have said which notices they had
	owed   map[string]*keptOwed
	once   bool // it looks once and is gone
	clock  keeperClock

	tidies time.Time // when the root is to be tidied; zero: not known yet
	spills time.Time // when it is to be looked at again whether an old version has left mail; zero: now
}

// keptBox is what a Keeper remembers of a mailbox, so that it reads only what has changed.
type keptBox struct {
	stamp  inbox.Stamp
	state  State
	ring   wake.Ring
	mail   bool            // something waits in it
	gone   time.Time       // since when its session was seen to be absent; zero: it is not
	rest   time.Time       // until then it is looked at only when its time has come, because it is long
	opens  time.Time       // when the next message in it may be handed over that may not now; zero: none
	next   time.Time       // when it is to be looked at though nothing has changed; zero: never
	failed bool            // the last look into it failed, and that was logged
	news   []news          // what the senders of its messages are to be told
	held   map[string]bool // ids of the held messages in it of which both sides and their people were told
}

// Keeper is new: it knows of nothing that was done.
func (b *Broker) Keeper() *Keeper {
	return &Keeper{b: b, boxes: map[string]*keptBox{}, told: map[string]bool{}, toldAt: map[string]time.Time{}, asked: map[string]bool{}, owed: map[string]*keptOwed{},
		clock: newKeeperClock()}
}

// keepBrief bounds how long a command looks: a person waits for it.
const keepBrief = time.Second

// MayBeDue says whether KeepOnce has anything to look at. As a rule it has not; that is one system call.
func (b *Broker) MayBeDue() bool { return b.untilLook() == 0 }

// KeepOnce acts on what is due, if something may be, and no process of the root does so all the time. As a rule that is one
// system call. What it has no time for is acted on a minute later, or by the first process that stays.
func (b *Broker) KeepOnce(ctx context.Context) error {
	if b.untilLook() > 0 {
		return nil
	}
	lock, ok, err := b.tryKeeping()
	if err != nil || !ok {
		return err
	}
	k := b.Keeper()
	k.once = true
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
	rows, err := k.b.rows(ctx)
	if err != nil {
		return 0, err
	}
	if k.clock.begin(k.b.now()) {
		clear(k.boxes)
		clear(k.owed)
		clear(k.toldAt)
		k.tidies, k.spills = time.Time{}, time.Time{}
	}
	k.takeSpills(ctx)
	mark := k.b.beginLook(k.once)
	next := k.lookIntoAll(ctx, rows)
	answer, err := k.answers(ctx, rows)
	if err != nil && ctx.Err() == nil {
		k.b.log.Warn("late answers are not looked after", "err", err)
		answer = earlier(answer, k.b.now().Add(keepAgain))
	}
	next = earlier(earlier(next, answer), k.tellNews(ctx, rows))
	if k.once && ctx.Err() != nil { // the next command would not come further
		next = earlier(next, k.b.now().Add(keepAgain))
	}
	if k.once || ctx.Err() == nil {
		mark.end(next)
	}
	if !k.once && !k.clock.waits(k.b.now()) {
		k.tidy(ctx)
	}
	if next.IsZero() {
		return 0, ctx.Err()
	}
	return max(next.Sub(k.b.now()), time.Millisecond), ctx.Err()
}

// lookIntoAll looks into the mailboxes, and gives the time when the next of them is to be looked into.
func (k *Keeper) lookIntoAll(ctx context.Context, rows []row) (next time.Time) {
	there := map[string]bool{}
	first := 0
	if k.once && len(rows) > 0 { // there may be no time for all: each command begins with another one
		first = int(uint64(k.b.now().UnixNano()) % uint64(len(rows)))
	}
	for i := range rows {
		r := rows[(first+i)%len(rows)]
		sid := r.sid()
		if k.once && ctx.Err() != nil {
			break
		}
		if !inbox.ValidName(sid) || there[sid] {
			continue
		}
		there[sid] = true
		if k.boxes[sid] == nil {
			k.boxes[sid] = &keptBox{}
		}
		if err := k.lookInto(ctx, rows, r, k.boxes[sid]); err != nil && ctx.Err() == nil {
			if !k.boxes[sid].failed {
				k.b.log.Warn("what messages are owed is not looked after", "session", sid, "err", err)
			}
			k.boxes[sid].failed, k.boxes[sid].next = true, k.b.now().Add(keepAgain)
		}
		next = earlier(next, k.boxes[sid].next)
	}
	for sid := range k.boxes {
		if !there[sid] {
			delete(k.boxes, sid)
		}
	}
	return next
}

// earlier gives the first of two times; a zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// lookInto looks at one mailbox if it has changed, or its time has come.
func (k *Keeper) lookInto(ctx context.Context, rows []row, r row, kept *keptBox) error {
	ctx, cancel := context.WithTimeout(ctx, keepWait)
	defer cancel()
	box, err := k.b.Mailbox(r.sid())
	if err != nil {
		return err
	}
	if kept.stamp == "" { // most of hundreds are empty: what a command does once must not cost much
		if some, err := box.Used(); err != nil || !some {
			kept.next = time.Time{}
			return err
		}
	}
	now := k.b.now()
	if k.once {
		return k.readAll(ctx, rows, k.b.session(r), box, kept)
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
		kept.next = earlier(kept.next, kept.rest)
		return nil
	}
	s := k.b.session(r)
	if s.State != Absent {
		kept.gone = time.Time{}
	} else if kept.gone.IsZero() {
		kept.gone = now
	}
	if !changed && !due && s.State == kept.state && s.LastRing == kept.ring {
		return nil
	}
	if !kept.opens.IsZero() && !now.Before(kept.opens) {
		if err := box.Stir(ctx); err != nil {
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
func (k *Keeper) readAll(ctx context.Context, rows []row, s Session, box *inbox.Mailbox, kept *keptBox) error {
	now := k.b.now()
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
func (k *Keeper) settle(ctx context.Context, rows []row, s Session, box *inbox.Mailbox, kept *keptBox, msgs []inbox.Message) error {
	now := k.b.now()
	var expired []inbox.Message
	var errs []error
	unread := quota{}
	toldBefore := kept.held
	kept.news, kept.held = nil, map[string]bool{}
	if k.clock.waits(now) {
		kept.next, kept.stamp = k.clock.calm, ""
		return nil
	}
	for _, stored := range msgs {
		m := k.clock.of(stored, now, k.once)
		if m.Expired(inbox.Seconds(now)) {
			expired = append(expired, stored)
			continue
		}
		if m.Owes() && m.Due > inbox.Seconds(now) { // its record may be written behind this look
			kept.next = earlier(kept.next, inbox.FromSeconds(m.Due))
		}
		if m.ExpiresAt != 0 {
			kept.next = earlier(kept.next, inbox.FromSeconds(m.ExpiresAt))
		}
		opens := k.b.opens(s.ID, m)
		if !opens.IsZero() && !k.once { // nobody would be rung now
			kept.next, kept.opens = earlier(kept.next, opens), earlier(kept.opens, opens)
		}
		held := m.Held != "" && !opens.IsZero()
		if held {
			var err error
			if !toldBefore[m.ID] { // who held it may have been killed before it told anybody
				err = k.b.tellStorm(ctx, s.ID, m)
			}
			kept.held[m.ID] = err == nil
			errs = append(errs, err)
		}
		if held || !unread.take(m) {
			continue
		}
		for _, d := range deadlines(s, kept.gone, m, now) {
			if d.at.After(now) {
				kept.next = earlier(kept.next, d.at)
			} else {
				kept.news = append(kept.news, news{m: m, s: s, reason: d.reason})
			}
		}
	}
	return errors.Join(append(errs, k.expire(ctx, rows, s.ID, box, expired))...)
}

// wantsNotice says whether the sender of a message wants to hear that it was not read. Who did not say so does not, of
// what is only told to the other side, and of what need not be kept.
func wantsNotice(m inbox.Message) bool {
	switch {
	case m.From == SystemAlias || m.TellAfter < 0:
		return false
	case m.TellAfter > 0:
		return true
	}
	return m.Kind != "ack" && m.Kind != "status" && m.Kind != kindSystem && !m.Ephemeral
}

// deadline is when the sender of a message is told something.
type deadline struct {
	reason string
	at     time.Time
}

// deadlines are those of a waiting message, beside that it expires. gone is since when its receiver was seen to be absent: a
// command, which looks once, does not know that.
func deadlines(s Session, gone time.Time, m inbox.Message, now time.Time) (all []deadline) {
	unread := m.Time().Add(unreadAfter(s, m))
	ended := m.Time().Add(tellAfter(m))
	if !gone.IsZero() {
		ended = earlier(gone.Add(endedAfter), ended)
	}
	if r := s.LastRing; r.Outcome == wake.Refused && !r.At.Before(m.Time()) && !isFuture(r.At, now) && len(wake.MayWake([]inbox.Message{m})) > 0 {
		all = append(all, deadline{Refused, r.At})
	}
	switch {
	case s.State == Absent && !m.ToAbsent: // then its sender is not told that it is unread, too
		all = append(all, deadline{Ended, ended})
	case !m.Deferrable || m.TellAfter > 0: // else its sender wants it to wait
		all = append(all, deadline{Unread, unread})
	}
	return all
}

// tellAfter is how long a message may wait before its sender is told.
func tellAfter(m inbox.Message) time.Duration {
	if m.TellAfter <= 0 {
		return TellAfter
	}
	return time.Duration(min(m.TellAfter, (1000*24*time.Hour).Seconds()) * float64(time.Second))
}

// unreadAfter is how long it may wait before its sender is told that its receiver has not read it.
func unreadAfter(s Session, m inbox.Message) time.Duration {
	switch {
	case m.TellAfter > 0:
	case s.State == Absent && m.ToAbsent:
		return tellAbsent
	case s.Quiet:
		return tellQuiet
	}
	return tellAfter(m)
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
	box, err := k.b.Mailbox(sid)
	if err != nil {
		return false
	}
	found, _ := box.Search(ctx, inbox.Query{ // what cannot be read is tried
		Holds: holds(SystemAlias),
		Is:    func(m inbox.Message) bool { return m.From == SystemAlias }, Limit: openLook,
	})
	for _, f := range found {
		for _, id := range noticesIn(f.Message) {
			k.told[id] = true
		}
		if at := f.Message.Time(); f.Message.Deferrable && at.After(k.toldAt[sid]) && !at.After(k.b.now()) {
			k.toldAt[sid] = at
		}
	}
	return k.told[id]
}

// expire takes messages out of a mailbox that are not handed over any more. They become dead letters first, and their
// senders are told before they are gone from the mailbox: a kill in between costs a second try.
func (k *Keeper) expire(ctx context.Context, rows []row, sid string, box *inbox.Mailbox, expired []inbox.Message) error {
	if len(expired) == 0 {
		return nil
	}
	var dead []DeadLetter
	for _, m := range expired {
		kept := m
		if m.Ephemeral {
			kept.Content, kept.Extra = "", nil
		}
		dead = append(dead, DeadLetter{Reason: Expired, Message: kept})
	}
	if err := k.b.addDead(ctx, sid, dead...); err != nil {
		return err
	}
	told := quota{}
	var all []news
	for _, m := range expired {
		n := news{m: m, reason: Expired}
		if !told.take(m) {
			continue
		}
		if to := k.b.senderOf(rows, m); to != nil && !k.wasTold(ctx, to.sid(), n.notice()) { // by one that was killed behind it
			all = append(all, n)
		}
	}
	k.b.tellSenders(ctx, rows, all)
	err := box.Withdraw(ctx, expired...)
	if err == nil {
		k.b.closeMessages(ctx, sid, Expired, expired)
	}
	return err
}

// Files are those whose closing tells that there may be something to do: mail came or went, a session was rung, or its
// client has ended.
func (k *Keeper) Files() []string {
	files := []string{filepath.Join(k.b.Root(), RegistryLock)}
	if len(k.owed) > 0 {
		files = append(files, filepath.Join(k.b.Root(), owedDir)) // a directory: any file of it
	}
	for sid, kept := range k.boxes {
		names := []string{sid + ".inbox.lock"}
		if kept.mail {
			names = append(names, serverLock(sid), ringLock(sid), filepath.Join("sessions", sid+".lock"))
		}
		for _, name := range names {
			path := filepath.Join(k.b.Root(), name)
			if _, err := os.Stat(path); err == nil {
				files = append(files, path)
			}
		}
	}
	return files
}
