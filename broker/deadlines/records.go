package deadlines

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// recordMemory is what a Checker remembers about the records of a session.
type recordMemory struct {
	version atomicfile.Version
	next    time.Time // the next deadline; zero: none until a record changes
	failed  bool      // the last look failed; the Checker looks again at the time next
	absent  bool      // reminders wait until the session is back
	unread  bool      // reminders wait until the session reads its mail
	stamp   inbox.Stamp
	news    []owed.News // for the askers; tellNews sends them
	last    float64     // closeAnswered has looked at all questions that were sent until this time
}

func versionOf(dir *atomicfile.Dir, name string) (v atomicfile.Version, err error) {
	info, err := dir.Stat(name)
	if err == nil {
		v = atomicfile.VersionOf(info)
	}
	return v, err
}

// lookIntoRecords acts on the records of owed answers: it notifies a sender that got no answer in time, closes answered records, reminds
// sessions of due answers, and returns the next deadline.
func (c *Checker) lookIntoRecords(ctx context.Context, rows []sessions.Row) (next time.Time, err error) {
	dir, err := c.reg.SubIfThere(owed.Directory)
	if err != nil || dir == nil {
		return next, err
	}
	defer dir.Close()
	if c.Clock.waits(c.reg.Now()) {
		return c.Clock.calm, nil
	}
	sids, err := owed.Sessions(dir)
	errs := []error{err}
	there := map[string]bool{}
	for _, sid := range sids {
		there[sid] = true
		if c.owed[sid] == nil {
			c.owed[sid] = &recordMemory{}
		}
		mem, now := c.owed[sid], c.reg.Now()
		if !mem.failed || !now.Before(mem.next) {
			err := c.lookIntoRecordsOf(ctx, rows, dir, sid, mem)
			if mem.failed = err != nil; mem.failed {
				mem.version, mem.next = atomicfile.Version{}, now.Add(retryAfter)
			}
			errs = append(errs, err)
		}
		next = sessions.Earlier(next, mem.next)
	}
	for sid := range c.owed {
		if !there[sid] {
			delete(c.owed, sid)
		}
	}
	return next, errors.Join(errs...)
}

// lookIntoRecordsOf is lookIntoRecords for one session. It does something only if a record has changed, if a deadline has passed, or if a
// reminder had to wait and may now be sent.
func (c *Checker) lookIntoRecordsOf(ctx context.Context, rows []sessions.Row, dir *atomicfile.Dir, sid string, mem *recordMemory) error {
	version, err := versionOf(dir, sid+owed.Suffix)
	if errors.Is(err, fs.ErrNotExist) { // the last record was just closed
		*mem = recordMemory{last: mem.last}
		return nil
	}
	if err != nil {
		return err
	}
	var stamp inbox.Stamp
	if box := c.boxes[sid]; box != nil {
		stamp = box.stamp
	}
	again := mem.absent && c.isBack(rows, sid) || mem.unread && stamp != mem.stamp
	if version == mem.version && !again && (mem.next.IsZero() || c.reg.Now().Before(mem.next)) {
		return nil
	}
	records, err := owed.ReadRecords(dir, sid)
	if err != nil {
		return err
	}
	l := recordLook{c: c, rows: rows, sid: sid, edits: map[owed.Key]recordEdit{}, told: owed.Quota{}}
	if i := sessions.FindSID(rows, sid); i >= 0 {
		s := c.look.Session(rows[i])
		l.s = &s
	}
	l.closeAnswered(ctx, records, mem)
	var errs []error // if one notice fails, the others are still sent
	for _, d := range records {
		if !d.Half && l.edits[d.Key()].answer == nil {
			errs = append(errs, l.look(ctx, d))
		}
	}
	errs = append(errs, l.remindOf(ctx, records))
	if len(l.edits) > 0 {
		err = owed.ChangeRecords(ctx, c.reg, dir, sid, l.edit)
	}
	mem.version, mem.next, mem.absent, mem.news = version, l.next, l.absent, l.news
	mem.unread, mem.stamp = l.unread, stamp
	return errors.Join(append(errs, err)...)
}

// recordLook is one look at the records of a session.
type recordLook struct {
	c      *Checker
	rows   []sessions.Row
	sid    string
	s      *sessions.Session // the session sid; nil: it is not registered
	next   time.Time
	late   []lateAnswer
	absent bool // a reminder is due, but the session is absent
	unread bool // a reminder is due, but the question or the last reminder is unread
	told   owed.Quota
	news   []owed.News
	edits  map[owed.Key]recordEdit
}

// recordEdit is the change that a look makes to a record.
type recordEdit struct {
	answer    *mail.Message
	observed  time.Time
	told      bool // the sender got a notice that no answer came before answer_by
	reminders int
	reminder  string // the id of the last reminder
	how       string
	stale     *time.Time // when a look first found the answer late by more than overdueLimit
	future    bool       // the times of the message are in the future: a clock was wrong
}

// edit applies to one record the change that the look has decided. A record that another process has closed meanwhile stays closed.
func (l *recordLook) edit(d *owed.Record) (changed, drop bool) {
	e, ok := l.edits[d.Key()]
	switch {
	case !ok:
		return false, false
	case !d.Owes() && e.told:
		return false, true
	case e.answer != nil:
		return d.Answered(*e.answer, e.observed), false
	case e.how != "":
		d.How, d.ClosedAt = e.how, l.c.reg.Now().UTC()
		return true, false
	}
	if e.future {
		d.Message = sentAt(d.Message, l.c.reg.Now())
	}
	if e.stale != nil {
		d.StaleAt = *e.stale
	}
	d.SenderTold = d.SenderTold || e.told
	if e.reminders > d.Reminders {
		d.Reminders, d.Reminder, d.RemindedAt = e.reminders, e.reminder, l.c.reg.Now().UTC()
	}
	return true, false
}

// closeAnswered finds answers that the records do not have yet: answers that came before their records were written. A long-lived process looks for them when it first sees a record, and when the answer is due.
func (l *recordLook) closeAnswered(ctx context.Context, records []owed.Record, mem *recordMemory) {
	var asked []owed.Record
	newest := mem.last
	for _, d := range records {
		if d.Half || !d.Owes() {
			continue
		}
		fresh := !l.c.Once && d.TS > mem.last
		if newest = max(newest, d.TS); fresh || !l.c.reg.Now().Before(l.nextReminder(d)) {
			asked = append(asked, d)
		}
	}
	mem.last = newest
	if len(asked) == 0 {
		return
	}
	ids := map[string]bool{}
	answers, err := owed.AnswersTo(ctx, l.c.reg, l.rows, map[string][]owed.Record{l.sid: asked})
	if err != nil && ctx.Err() == nil {
		l.c.reg.Log.Warn("answers may be missing", "session", l.sid, "err", err)
	}
	for key := range answers {
		ids[key.ID] = true
	}
	if len(ids) == 0 {
		return
	}
	observed := owed.Observed(ctx, l.c.reg, l.sid, ids)
	for key, m := range answers {
		l.edits[key.Key] = recordEdit{answer: &m, observed: observed[key.Key]}
	}
}

// look acts on the deadlines of one record that have passed.
func (l *recordLook) look(ctx context.Context, d owed.Record) error {
	now, e := l.c.reg.Now(), recordEdit{reminders: d.Reminders}
	if e.future = sessions.IsFuture(d.Time(), now); e.future {
		d.Message = sentAt(d.Message, now)
	}
	var err error
	if by := mail.FromSeconds(d.AnswerBy); d.AnswerBy != 0 && !d.SenderTold {
		if by.After(now) {
			l.next = sessions.Earlier(l.next, by)
		} else {
			err = l.tellUnanswered(ctx, d)
			e.told = err == nil
		}
	}
	if d.Owes() {
		l.overdue(d, &e)
	}
	if e != (recordEdit{reminders: d.Reminders}) {
		l.edits[d.Key()] = e
	}
	return err
}

// isBack reports whether a session is registered and not absent.
func (c *Checker) isBack(rows []sessions.Row, sid string) bool {
	i := sessions.FindSID(rows, sid)
	return i >= 0 && c.look.Session(rows[i]).State != sessions.Absent
}

// tellEnded adds the news for the asker that the asked session has ended without an answer. The asker gets no such
// notice if an earlier one has said that this session ended without reading the question.
func (l *recordLook) tellEnded(d owed.Record) {
	if l.told.Take(d.Message) {
		l.news = append(l.news, owed.News{Message: d.Message, Session: *l.s, Reason: owed.EndedUnanswered})
	}
}

func (l *recordLook) tellUnanswered(ctx context.Context, d owed.Record) error {
	c := l.c
	if answers, err := owed.AnswersTo(ctx, c.reg, l.rows, map[string][]owed.Record{l.sid: {d}}); err != nil || len(answers) > 0 {
		return err
	}
	brief, end := context.WithTimeout(ctx, sessions.KeepWait)
	defer end()
	return owed.TellSender(brief, c.reg, l.rows, owed.News{Message: d.Message, Reason: owed.Unanswered})
}
