package deadlines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
)

const (
	// These are the maximum numbers of reminders of one answer that a session owes. The first reminder comes when the answer is due; the
	// time to each further one doubles. A session that cannot be rung gets only one reminder.
	maxRemindersFull     = 3
	maxRemindersDegraded = 1
	// remindGap is the shortest time between two reminders to one session, however many answers are due.
	remindGap = 30 * time.Minute
	// readGrace is how long a session has for an answer after it has read the question, unless the asker wants the answer sooner.
	readGrace = 5 * time.Minute
	// maxNamed is the maximum number of message ids in a reminder.
	maxNamed = 5
	// overdueLimit is how long an overdue obligation is kept.
	overdueLimit = 30 * 24 * time.Hour
	// giveUpAfter is how much longer the obligation is kept. The clock may be wrong, and in this time somebody will have set it right.
	giveUpAfter = 24 * time.Hour
)

func MaxReminders(surface string) int {
	if surface == sessions.SurfaceFull {
		return maxRemindersFull
	}
	return maxRemindersDegraded
}

// lateAnswer is an overdue answer, and the number of the reminder that comes next.
type lateAnswer struct {
	owed.Record
	n int
}

// nextReminder returns when the next reminder of an answer is due.
func (l *recordLook) nextReminder(d owed.Record) time.Time { return reminderAt(d, d.Reminders+1) }

// reminderAt returns when reminder number n is due. Reminder 1 is due at the same time as the answer, and the time to each further one
// doubles.
func reminderAt(d owed.Record, n int) time.Time {
	due := mail.FromSeconds(d.Due)
	within := max(due.Sub(d.Time()), time.Second)
	return due.Add(time.Duration(min(float64(within)*(math.Pow(2, float64(n-1))-1), float64(overdueLimit))))
}

// overdue acts on an answer that may be overdue: it decides whether to remind the session, tells the asker if the session has ended, and
// ends the obligation if it is too old. If several reminders have become due since the last look, the session gets only one.
func (l *recordLook) overdue(d owed.Record, e *recordEdit) {
	b, now := l.c.reg, l.c.reg.Now()
	due := mail.FromSeconds(d.Due)
	if due.After(now) {
		l.next = sessions.Earlier(l.next, due)
		return
	}
	if l.isStale(d, e, due.Add(overdueLimit)) {
		return
	}
	if l.s == nil || l.s.State == sessions.External {
		return // "c2c sweep" closes the record of a session that is gone; a sender outside gets only answers
	}
	if l.s.State == sessions.Absent { // send no reminder: nobody would read it. But notify the asker, who can ask another session
		l.absent = true
		l.tellEnded(d)
		return
	}
	limit, n := MaxReminders(owed.SurfaceOf(b, *l.s)), d.Reminders
	for n < limit && !reminderAt(d, n+1).After(now) {
		n++
	}
	if n > d.Reminders {
		l.late = append(l.late, lateAnswer{d, n})
	}
	if at := reminderAt(d, n+1); n < maxRemindersFull && at.After(now) { // a session that can be rung by then gets more reminders
		l.next = sessions.Earlier(l.next, at)
	}
}

// isStale reports whether an obligation is too old for further reminders: the time in the argument forget has passed. The obligation ends
// only if a look giveUpAfter later finds the same, so a clock that was ahead for some time does not end it.
func (l *recordLook) isStale(d owed.Record, e *recordEdit, forget time.Time) bool {
	now := l.c.reg.Now()
	if forget.After(now) {
		if l.next = sessions.Earlier(l.next, forget); !d.StaleAt.IsZero() {
			e.stale = new(time.Time)
		}
		return false
	}
	since := d.StaleAt
	if since.IsZero() || since.After(now) {
		since = now.UTC()
		e.stale = &since
	}
	if over := since.Add(giveUpAfter); over.After(now) {
		l.next = sessions.Earlier(l.next, over)
	} else {
		e.how = owed.GivenUp
	}
	return true
}

// remindOf puts one reminder of all overdue answers into the session's mailbox. The argument records has all answers that the session owes.
// A reminder leaves out unread questions, because these ring by themselves. While an earlier reminder is unread, remindOf sends nothing.
func (l *recordLook) remindOf(ctx context.Context, records []owed.Record) error {
	if len(l.late) == 0 {
		return nil
	}
	now := l.c.reg.Now()
	var last time.Time
	ids := map[string]bool{}
	for _, d := range records {
		if d.RemindedAt.After(last) && !d.RemindedAt.After(now) { // a time in the future comes from a wrong clock
			last = d.RemindedAt
		}
		if d.Reminder != "" {
			ids[d.Reminder] = true
		}
	}
	if next := last.Add(remindGap); next.After(now) {
		l.next = sessions.Earlier(l.next, next)
		return nil
	}
	for _, d := range l.late {
		ids[d.ID] = true
	}
	found := owed.Found(ctx, l.c.reg, l.sid, ids)
	for _, f := range found {
		if f.Where != inbox.Read && f.Message.From == sessions.SystemAlias {
			l.unread = true
			return nil
		}
	}
	l.late = slices.DeleteFunc(l.late, func(d lateAnswer) bool {
		f, kept := found[d.Key()] // an ephemeral question is not kept
		if kept && f.Where != inbox.Read {
			l.unread = true
			return true
		}
		until := f.At.Add(min(readGrace, mail.FromSeconds(d.Due).Sub(d.Time())))
		wait := kept && until.After(now) && !f.At.After(now)
		if wait {
			l.next = sessions.Earlier(l.next, until)
		}
		return wait
	})
	return l.remind(ctx)
}

// remind stores the reminder. It does so once for each set of messages and reminder numbers. Unlike most notices, a reminder rings.
func (l *recordLook) remind(ctx context.Context) error {
	if len(l.late) == 0 {
		return nil
	}
	sort.SliceStable(l.late, func(i, j int) bool {
		a, b := &l.late[i], &l.late[j]
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.ID, b.ID)) < 0
	})
	var parts []string
	for _, d := range l.late {
		parts = append(parts, sessions.Fold(d.From), d.FromSession, d.ID, fmt.Sprint(d.n))
	}
	m := mail.Message{To: l.s.Alias, ID: owed.NoticeID(owed.Reminder, append([]string{l.sid}, parts...)...), Content: l.words()}
	if sessions.CheckID(l.late[0].ID) == nil {
		m.InReplyTo = l.late[0].ID
	}
	brief, end := context.WithTimeout(ctx, sessions.KeepWait)
	defer end()
	if err := owed.SendNotice(brief, l.c.reg, l.sid, m, owed.Reminder); err != nil {
		return err
	}
	for _, d := range l.late {
		e := l.edits[d.Key()]
		e.reminders, e.reminder = d.n, m.ID
		l.edits[d.Key()] = e
	}
	return nil
}

// words returns the text of a reminder. It quotes no message, because the quoted words would look like words of c2c.
func (l *recordLook) words() string {
	now := l.c.reg.Now()
	late := func(d lateAnswer) time.Duration { return now.Sub(mail.FromSeconds(d.Due)) }
	if len(l.late) == 1 {
		d := l.late[0]
		return fmt.Sprintf("%s waits for your answer to its %s %s, sent %s ago; %s. c2c thread %s shows it. Answer with c2c reply %[3]s TEXT, or with c2c reply --fail %[3]s TEXT if it cannot be done.",
			cmp.Or(d.Sender(), "somebody"), d.Kind, mail.ShortID(d.ID), format.Age(now.Sub(d.Time())), dueWords(late(d)), mail.ShortID(d.ID))
	}
	var named []string
	for _, d := range l.late[:min(len(l.late), maxNamed)] {
		named = append(named, fmt.Sprintf("%s (%s of %s, %s)", mail.ShortID(d.ID), d.Kind, cmp.Or(d.Sender(), "somebody"), dueWords(late(d))))
	}
	if more := len(l.late) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("Others wait for %d answers of yours: %s. c2c obligations shows all. Answer each with c2c reply ID TEXT, or with c2c reply --fail ID TEXT if it cannot be done.",
		len(l.late), strings.Join(named, ", "))
}

func dueWords(late time.Duration) string {
	if late < time.Second {
		return "it is due now"
	}
	return "it was due " + format.Age(late) + " ago"
}
