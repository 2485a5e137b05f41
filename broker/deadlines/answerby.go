package deadlines

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"c2c/broker/notice"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/registry"
)

// keptOwed is what a Keeper remembers about the records of a session.
type keptOwed struct {
	version atomicfile.Version
	next    time.Time // zero: no deadline until a record changes
	absent  bool      // reminders wait until the session is back
	unread  bool      // reminders wait until its mail is read
	stamp   inbox.Stamp
	news    []notice.News // waiting to be told to the askers
	last    float64       // send time of the newest message whose answers were looked for
}

func versionOf(dir *atomicfile.Dir, name string) (v atomicfile.Version, err error) {
	info, err := dir.Stat(name)
	if err == nil {
		v = atomicfile.VersionOf(info)
	}
	return v, err
}

// answers acts on the records: it tells a sender that its answer is late, closes answered records, reminds sessions of due
// answers, and returns the next deadline.
func (k *Keeper) answers(ctx context.Context, rows []registry.Row) (next time.Time, err error) {
	dir, err := k.reg.SubIfThere(owed.Directory)
	if err != nil || dir == nil {
		return next, err
	}
	defer dir.Close()
	if k.Clock.waits(k.reg.Now()) {
		return k.Clock.calm, nil
	}
	sids, err := owed.Sessions(dir)
	errs := []error{err}
	there := map[string]bool{}
	for _, sid := range sids {
		there[sid] = true
		if k.owed[sid] == nil {
			k.owed[sid] = &keptOwed{}
		}
		errs = append(errs, k.answersOf(ctx, rows, dir, sid, k.owed[sid]))
		next = sessions.Earlier(next, k.owed[sid].next)
	}
	for sid := range k.owed {
		if !there[sid] {
			delete(k.owed, sid)
		}
	}
	return next, errors.Join(errs...)
}

// answersOf does this for one session, if its records have changed or a deadline has passed.
func (k *Keeper) answersOf(ctx context.Context, rows []registry.Row, dir *atomicfile.Dir, sid string, kept *keptOwed) error {
	version, err := versionOf(dir, sid+owed.Suffix)
	if errors.Is(err, fs.ErrNotExist) { // the last record was just closed
		*kept = keptOwed{last: kept.last}
		return nil
	}
	if err != nil {
		kept.next = k.reg.Now().Add(keepAgain)
		return err
	}
	var stamp inbox.Stamp
	if box := k.boxes[sid]; box != nil {
		stamp = box.stamp
	}
	again := kept.absent && k.isBack(rows, sid) || kept.unread && stamp != kept.stamp
	if version == kept.version && !again && (kept.next.IsZero() || k.reg.Now().Before(kept.next)) {
		return nil
	}
	debts, err := owed.Read(dir, sid)
	if err != nil {
		kept.next = k.reg.Now().Add(keepAgain)
		return err
	}
	l := owedLook{k: k, rows: rows, sid: sid, edits: map[owed.Key]owedEdit{}, told: notice.Quota{}}
	if i := registry.FindSID(rows, sid); i >= 0 {
		s := k.reg.Session(rows[i])
		l.s = &s
	}
	l.closeAnswered(ctx, debts, kept)
	var errs []error // when one sender cannot be told, the others still are
	for _, d := range debts {
		if !d.Half && l.edits[d.Key()].answer == nil {
			errs = append(errs, l.look(ctx, d))
		}
	}
	errs = append(errs, l.remindOf(ctx, debts))
	if len(l.edits) > 0 {
		err = owed.Change(ctx, k.reg, dir, sid, l.edit)
	}
	kept.version, kept.next, kept.absent, kept.news = version, l.next, l.absent, l.news
	kept.unread, kept.stamp = l.unread, stamp
	if err := errors.Join(append(errs, err)...); err != nil {
		kept.version, kept.next = atomicfile.Version{}, sessions.Earlier(l.next, k.reg.Now().Add(keepAgain))
		return err
	}
	return nil
}

// owedLook is one look at the records of a session.
type owedLook struct {
	k      *Keeper
	rows   []registry.Row
	sid    string
	s      *sessions.Session // nil: it is not registered
	next   time.Time
	late   []lateAnswer
	absent bool // a reminder is due, but the session is absent
	unread bool // a reminder is due, but the question or the last reminder is unread
	told   notice.Quota
	news   []notice.News
	edits  map[owed.Key]owedEdit
}

// owedEdit is the change that a look makes to a record.
type owedEdit struct {
	answer    *mail.Message
	observed  time.Time
	told      bool // its sender knows that there was no answer by answer_by
	reminders int
	reminder  string // the id of the last one
	how       string
	stale     *time.Time // when a look first found it overdue for too long
	future    bool       // its times are in the future: a clock was wrong
}

// edit applies the changes that the look has decided. A record that another process has closed meanwhile stays closed.
func (l *owedLook) edit(d *owed.Record) (changed, drop bool) {
	e, ok := l.edits[d.Key()]
	switch {
	case !ok:
		return false, false
	case !d.Owes() && e.told:
		return false, true
	case e.answer != nil:
		return d.Answered(*e.answer, e.observed), false
	case e.how != "":
		d.How, d.ClosedAt = e.how, l.k.reg.Now().UTC()
		return true, false
	}
	if e.future {
		d.Message = sentAt(d.Message, l.k.reg.Now())
	}
	if e.stale != nil {
		d.StaleAt = *e.stale
	}
	d.SenderTold = d.SenderTold || e.told
	if e.reminders > d.Reminders {
		d.Reminders, d.Reminder, d.RemindedAt = e.reminders, e.reminder, l.k.reg.Now().UTC()
	}
	return true, false
}

// closeAnswered finds answers that the records do not have: such an answer came before its record was written, or from the
// original. A process that stays looks for them when it first sees a record, and when the answer is due.
func (l *owedLook) closeAnswered(ctx context.Context, debts []owed.Record, kept *keptOwed) {
	var asked []owed.Record
	newest := kept.last
	for _, d := range debts {
		if d.Half || !d.Owes() {
			continue
		}
		fresh := !l.k.Once && d.TS > kept.last
		if newest = max(newest, d.TS); fresh || !l.k.reg.Now().Before(l.nextReminder(d)) {
			asked = append(asked, d)
		}
	}
	kept.last = newest
	if len(asked) == 0 {
		return
	}
	ids := map[string]bool{}
	answers := owed.AnswersTo(ctx, l.k.reg, l.rows, map[string][]owed.Record{l.sid: asked})
	for key := range answers {
		ids[key.ID] = true
	}
	if len(ids) == 0 {
		return
	}
	observed := owed.Observed(ctx, l.k.reg, l.sid, ids)
	for key, m := range answers {
		l.edits[key.Key] = owedEdit{answer: &m, observed: observed[key.Key]}
	}
}

// look acts on the deadlines of one record that have passed.
func (l *owedLook) look(ctx context.Context, d owed.Record) error {
	now, e := l.k.reg.Now(), owedEdit{reminders: d.Reminders}
	if e.future = sessions.IsFuture(d.Time(), now); e.future {
		d.Message = sentAt(d.Message, now)
	}
	var errs []error
	if by := mail.FromSeconds(d.AnswerBy); d.AnswerBy != 0 && !d.SenderTold {
		if by.After(now) {
			l.next = sessions.Earlier(l.next, by)
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
		l.edits[d.Key()] = e
	}
	return errors.Join(errs...)
}

// isBack reports whether a session is registered and not absent.
func (k *Keeper) isBack(rows []registry.Row, sid string) bool {
	i := registry.FindSID(rows, sid)
	return i >= 0 && k.reg.State(rows[i]) != sessions.Absent
}

// tellEnded tells the asker that the asked session ended without an answer, unless the asker was already told that it ended
// without reading the question.
func (l *owedLook) tellEnded(d owed.Record) {
	if l.told.Take(d.Message) {
		l.news = append(l.news, notice.News{Message: d.Message, Session: *l.s, Reason: notice.EndedUnanswered})
	}
}

func (l *owedLook) tellUnanswered(ctx context.Context, d owed.Record) error {
	k, m := l.k, d.Message
	to := notice.SenderOf(k.reg, l.rows, m)
	if to == nil {
		return nil
	}
	if has, err := owed.HasAnswer(ctx, k.reg, to.SID(), m.ID, func(mail.Message) bool { return true }); err != nil || has {
		return err
	}
	if len(owed.AnswersTo(ctx, k.reg, l.rows, map[string][]owed.Record{l.sid: {d}})) > 0 {
		return nil
	}
	return notice.Tell(ctx, k.reg, l.rows, m, notice.Unanswered, notice.TextUnanswered(m))
}
