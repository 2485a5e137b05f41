package owed

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// recordMemory is what a Checker remembers about the records of a session.
type recordMemory struct {
	version atomicfile.Info
	next    time.Time // the next deadline; zero: none until a record changes
	waits   bool      // a reminder waits until the session is back, or reads its mail
	state   sessions.State
	stamp   inbox.Stamp
	news    []News // for the askers; tellNews sends them
}

// lookIntoRecords acts on the records of owed answers: it tells a sender that got no answer in
// time, closes answered records, reminds sessions of due answers, and returns the next deadline.
func (c *Checker) lookIntoRecords(ctx context.Context) (next time.Time) {
	there := map[string]bool{}
	const warning = "deadlines of answers could not be checked"
	again := c.try(ctx, Directory, warning, func() error {
		dir, err := c.reg.SubIfThere(Directory)
		if err != nil || dir == nil {
			return err
		}
		defer dir.Close()
		sids, err := Sessions(dir)
		for _, sid := range sids {
			there[sid] = true
			mem := c.records[sid]
			if mem == nil {
				mem = &recordMemory{}
				c.records[sid] = mem
			}
			again := c.try(ctx, Directory+" "+sid, warning, func() error { return c.lookIntoRecordsOf(ctx, dir, sid, mem) })
			if !again.IsZero() {
				mem.version, mem.next = atomicfile.Info{}, again
			}
			next = sessions.Earlier(next, mem.next)
		}
		return err
	})
	maps.DeleteFunc(c.records, func(sid string, _ *recordMemory) bool { return !there[sid] })
	return sessions.Earlier(next, again)
}

// lookIntoRecordsOf is lookIntoRecords for one session. It does something only if a record has
// changed, if a deadline has passed, or if a reminder had to wait and may now be sent.
func (c *Checker) lookIntoRecordsOf(ctx context.Context, dir *atomicfile.Dir, sid string, mem *recordMemory) error {
	info, err := dir.Stat(sid + Suffix)
	if errors.Is(err, fs.ErrNotExist) { // the last record was just closed
		*mem = recordMemory{}
		return nil
	}
	if err != nil {
		return err
	}
	l := recordLook{c: c, sid: sid, edits: map[Key][]recordEdit{}, told: Quota{}}
	version, now := info, c.reg.Now()
	var stamp inbox.Stamp
	if box := c.boxes[sid]; box != nil {
		stamp = box.stamp
	}
	changed := version != mem.version || !mem.next.IsZero() && !now.Before(mem.next)
	if !changed && !mem.waits {
		return nil
	}
	if i := sessions.FindSID(c.authors.Rows, sid); i >= 0 {
		l.s = c.look.Session(c.authors.Rows[i])
	}
	if !changed && stamp == mem.stamp && l.s.State == mem.state {
		return nil
	}
	records, err := ReadRecords(dir, sid)
	if err != nil {
		return err
	}
	err = l.act(ctx, records)
	if len(l.edits) > 0 {
		err = errors.Join(err, ChangeRecords(ctx, c.reg, dir, sid, l.edit))
	}
	*mem = recordMemory{version, l.next, l.waits, l.s.State, stamp, l.news}
	return err
}

// recordLook is one look at the records of a session.
type recordLook struct {
	c     *Checker
	sid   string
	s     sessions.Session // empty: it is not registered
	next  time.Time
	waits bool // as in recordMemory
	told  Quota
	news  []News
	edits map[Key][]recordEdit
}

// recordEdit is a change that a look makes to a record, as in ChangeRecords.
type recordEdit func(d *Record) (changed, drop bool)

// edit makes the changes that the look has decided. A record that another process has closed
// meanwhile stays closed.
func (l *recordLook) edit(d *Record) (changed, drop bool) {
	for _, edit := range l.edits[d.Key()] {
		if changed, drop = edit(d); drop {
			break
		}
	}
	return changed, drop
}

func (l *recordLook) change(d Record, edit recordEdit) {
	l.edits[d.Key()] = append(l.edits[d.Key()], edit)
}

// act acts on the records for which some time has come.
func (l *recordLook) act(ctx context.Context, records []Record) error {
	var due []Record
	reasons := map[Key][]string{}
	for _, d := range records {
		now, next := debt{Message: d.Message, where: inRecord, to: l.s, now: l.c.reg.Now(), told: d.SenderTold, reminded: d.Reminders > 0}.due()
		l.next = sessions.Earlier(l.next, next)
		if reasons[d.Key()] = now; len(now) > 0 {
			due = append(due, d)
		}
	}
	answers, errs := l.closeAnswered(ctx, due)
	var late []Record
	for _, d := range due {
		if _, answered := answers[SessionKey{l.sid, d.Key()}]; answered {
			continue
		}
		for _, reason := range reasons[d.Key()] {
			switch reason {
			case Unanswered: // if this fails, all others are still told
				errs = errors.Join(errs, l.tellUnanswered(ctx, d, errs != nil))
			case EndedUnanswered: // the session is reminded when it is back
				l.waits = true
				if l.told.Take(d.Message) {
					l.news = append(l.news, News{Message: d.Message, Session: l.s, Reason: EndedUnanswered})
				}
			case Reminder:
				late = append(late, d)
			case GivenUp:
				l.change(d, func(d *Record) (changed, drop bool) {
					d.How, d.ClosedAt = GivenUp, l.c.reg.Now().UTC()
					return true, false
				})
			}
		}
	}
	return errors.Join(errs, l.remind(ctx, late, records))
}

// closeAnswered finds answers that the records do not have: the process that sent the answer was
// killed before it had changed the record, or the record was written after the answer. With an
// error, some answers may be missing.
func (l *recordLook) closeAnswered(ctx context.Context, due []Record) (answers map[SessionKey]mail.Message, err error) {
	if len(due) == 0 {
		return nil, nil
	}
	answers, err = AnswersTo(ctx, l.c.reg, l.c.authors, map[string][]Record{l.sid: due})
	if len(answers) == 0 {
		return nil, err
	}
	ids := map[string]bool{}
	for key := range answers {
		ids[key.ID] = true
	}
	observed := Observed(ctx, l.c.reg, l.sid, ids)
	for key, m := range answers {
		l.edits[key.Key] = []recordEdit{func(d *Record) (changed, drop bool) {
			return d.Answered(m, observed[key.Key]), !d.Owes()
		}}
	}
	return answers, err
}

// tellUnanswered tells a sender that no answer has come in time. If unsure is set, not all answers
// were found, so it looks again.
func (l *recordLook) tellUnanswered(ctx context.Context, d Record, unsure bool) error {
	c := l.c
	if unsure {
		if answers, err := AnswersTo(ctx, c.reg, c.authors, map[string][]Record{l.sid: {d}}); err != nil || len(answers) > 0 {
			return err
		}
	}
	brief, end := context.WithTimeout(ctx, sessions.KeepWait)
	defer end()
	err := TellSender(brief, c.reg, c.authors, News{Message: d.Message, Reason: Unanswered})
	if err == nil {
		l.change(d, func(d *Record) (changed, drop bool) {
			d.SenderTold = true
			return true, !d.Owes()
		})
	}
	return err
}
