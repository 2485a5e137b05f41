package broker

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

// Unanswered is the reason when an answer has not come in time.
const Unanswered = "unanswered"

// keptOwed is what a Keeper remembers of the records of a session.
type keptOwed struct {
	version atomicfile.Version
	next    time.Time // zero: nothing is due as long as nothing changes
	absent  bool      // reminders wait until the session is back
	unread  bool      // reminders wait until its mail is read
	stamp   inbox.Stamp
	news    []news  // what those who have asked are to be told
	last    float64 // when the newest message was sent whose answers were looked for
}

func versionOf(dir *atomicfile.Dir, name string) (v atomicfile.Version, err error) {
	info, err := dir.Stat(name)
	if err == nil {
		v = atomicfile.VersionOf(info)
	}
	return v, err
}

// answers looks after the records: it tells the senders whose answer is late, closes what was answered, reminds those who owe an
// answer that is due, and gives the time when the next one is.
func (k *Keeper) answers(ctx context.Context, rows []row) (next time.Time, err error) {
	dir, err := k.b.subIfThere(owedDir)
	if err != nil || dir == nil {
		return next, err
	}
	defer dir.Close()
	if k.clock.waits(k.b.now()) {
		return k.clock.calm, nil
	}
	sids, err := owedSessions(dir)
	errs := []error{err}
	there := map[string]bool{}
	for _, sid := range sids {
		there[sid] = true
		if k.owed[sid] == nil {
			k.owed[sid] = &keptOwed{}
		}
		errs = append(errs, k.answersOf(ctx, rows, dir, sid, k.owed[sid]))
		next = earlier(next, k.owed[sid].next)
	}
	for sid := range k.owed {
		if !there[sid] {
			delete(k.owed, sid)
		}
	}
	return next, errors.Join(errs...)
}

// answersOf is answers for one session, if its records have changed or something is due.
func (k *Keeper) answersOf(ctx context.Context, rows []row, dir *atomicfile.Dir, sid string, kept *keptOwed) error {
	version, err := versionOf(dir, sid+owedEnd)
	if errors.Is(err, fs.ErrNotExist) { // the last record was just closed
		*kept = keptOwed{last: kept.last}
		return nil
	}
	if err != nil {
		kept.next = k.b.now().Add(keepAgain)
		return err
	}
	var stamp inbox.Stamp
	if box := k.boxes[sid]; box != nil {
		stamp = box.stamp
	}
	again := kept.absent && k.isBack(rows, sid) || kept.unread && stamp != kept.stamp
	if version == kept.version && !again && (kept.next.IsZero() || k.b.now().Before(kept.next)) {
		return nil
	}
	debts, err := readDebts(dir, sid)
	if err != nil {
		kept.next = k.b.now().Add(keepAgain)
		return err
	}
	l := owedLook{k: k, rows: rows, sid: sid, edits: map[debtKey]owedEdit{}, told: quota{}}
	if i := findSID(rows, sid); i >= 0 {
		s := k.b.session(rows[i])
		l.s = &s
	}
	l.closeAnswered(ctx, debts, kept)
	var errs []error // one sender that cannot be told stops no other
	for _, d := range debts {
		if !d.half && l.edits[d.key()].answer == nil {
			errs = append(errs, l.look(ctx, d))
		}
	}
	errs = append(errs, l.remindOf(ctx, debts))
	if len(l.edits) > 0 {
		err = k.b.changeDebts(ctx, dir, sid, l.edit)
	}
	kept.version, kept.next, kept.absent, kept.news = version, l.next, l.absent, l.news
	kept.unread, kept.stamp = l.unread, stamp
	if err := errors.Join(append(errs, err)...); err != nil {
		kept.version, kept.next = atomicfile.Version{}, earlier(l.next, k.b.now().Add(keepAgain))
		return err
	}
	return nil
}

// owedLook is one look at the records of a session.
type owedLook struct {
	k      *Keeper
	rows   []row
	sid    string
	s      *Session // nil: it is not registered
	next   time.Time
	late   []lateAnswer
	absent bool // a reminder is due that an absent session does not get
	unread bool // a reminder is due of what was not read yet, or an earlier reminder was not
	told   quota
	news   []news
	edits  map[debtKey]owedEdit
}

// owedEdit is what becomes of a record.
type owedEdit struct {
	answer    *inbox.Message
	observed  time.Time
	told      bool // its sender knows that there was no answer by answer_by
	reminders int
	reminder  string // the id of the last one
	how       string
	stale     *time.Time // since when it is seen to be overdue for too long
	future    bool       // it was written while a clock was ahead
}

// edit changes a record as the look has found. Whoever has closed it meanwhile was right.
func (l *owedLook) edit(d *debt) (changed, drop bool) {
	e, ok := l.edits[d.key()]
	switch {
	case !ok:
		return false, false
	case !d.Owes() && e.told:
		return false, true
	case e.answer != nil:
		return d.answered(*e.answer, e.observed), false
	case e.how != "":
		d.How, d.ClosedAt = e.how, l.k.b.now().UTC()
		return true, false
	}
	if e.future {
		d.Message = sentAt(d.Message, l.k.b.now())
	}
	if e.stale != nil {
		d.StaleAt = *e.stale
	}
	d.SenderTold = d.SenderTold || e.told
	if e.reminders > d.Reminders {
		d.Reminders, d.Reminder, d.RemindedAt = e.reminders, e.reminder, l.k.b.now().UTC()
	}
	return true, false
}

// closeAnswered finds answers of which the records do not tell: they were faster than the record, or come from the original.
// They are looked for when a record is seen first by a process that looks all the time, and when the answer is due.
func (l *owedLook) closeAnswered(ctx context.Context, debts []debt, kept *keptOwed) {
	var asked []debt
	newest := kept.last
	for _, d := range debts {
		if d.half || !d.Owes() {
			continue
		}
		fresh := !l.k.once && d.TS > kept.last
		if newest = max(newest, d.TS); fresh || !l.k.b.now().Before(l.nextReminder(d)) {
			asked = append(asked, d)
		}
	}
	kept.last = newest
	if len(asked) == 0 {
		return
	}
	ids := map[string]bool{}
	answers := l.k.b.answersTo(ctx, l.rows, map[string][]debt{l.sid: asked})
	for key := range answers {
		ids[key.id] = true
	}
	if len(ids) == 0 {
		return
	}
	observed := l.k.b.observed(ctx, l.sid, ids)
	for key, m := range answers {
		l.edits[key.debtKey] = owedEdit{answer: &m, observed: observed[key.debtKey]}
	}
}

// look acts on what is due of one record.
func (l *owedLook) look(ctx context.Context, d debt) error {
	now, e := l.k.b.now(), owedEdit{reminders: d.Reminders}
	if e.future = isFuture(d.Time(), now); e.future {
		d.Message = sentAt(d.Message, now)
	}
	var errs []error
	if by := inbox.FromSeconds(d.AnswerBy); d.AnswerBy != 0 && !d.SenderTold {
		if by.After(now) {
			l.next = earlier(l.next, by)
		} else if err := l.tellUnanswered(ctx, d); err != nil {
			errs = append(errs, err)
		} else {
			e.told = true
		}
	}
	if d.Owes() {
		errs = append(errs, l.overdue(ctx, d, &e))
	}
	if e != (owedEdit{reminders: d.Reminders}) {
		l.edits[d.key()] = e
	}
	return errors.Join(errs...)
}

// isBack says whether a session is there, and not absent.
func (k *Keeper) isBack(rows []row, sid string) bool {
	i := findSID(rows, sid)
	return i >= 0 && k.b.state(rows[i]) != Absent
}

// tellEnded tells the asker that the session that was asked has ended without an answer. Who was told that it has
// ended without reading the question is not told again.
func (l *owedLook) tellEnded(d debt) {
	if l.told.take(d.Message) {
		l.news = append(l.news, news{m: d.Message, s: *l.s, reason: endedUnanswered})
	}
}

func (l *owedLook) tellUnanswered(ctx context.Context, d debt) error {
	k, m := l.k, d.Message
	to := k.b.senderOf(l.rows, m)
	if to == nil {
		return nil
	}
	if has, err := k.b.hasAnswer(ctx, to.sid(), m.ID, func(inbox.Message) bool { return true }); err != nil || has {
		return err
	}
	if len(k.b.answersTo(ctx, l.rows, map[string][]debt{l.sid: {d}})) > 0 {
		return nil
	}
	return k.b.tell(ctx, l.rows, m, Unanswered, textUnanswered(m))
}

// hasAnswer says whether a session has got an answer to a message of its own, from somebody of whom from says yes. What a
// reader has in hand counts, too.
func (b *Broker) hasAnswer(ctx context.Context, sid, id string, from func(inbox.Message) bool) (bool, error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return false, err
	}
	found, err := box.Search(ctx, inbox.Query{
		Holds: holds(id),
		Is:    func(a inbox.Message) bool { return a.InReplyTo == id && a.From != SystemAlias && from(a) }, Limit: 1,
	})
	return len(found) > 0, err
}
