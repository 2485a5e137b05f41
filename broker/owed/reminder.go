package owed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
)

const (
	// MaxReminders is how often a session is reminded of an answer that it owes.
	MaxReminders = 1
	// remindGap is the shortest time between two reminders to one session, however many answers are
	// due.
	remindGap = 30 * time.Minute
	// readGrace is how long a session has for an answer after it has read the question, unless the
	// asker wants the answer sooner.
	readGrace = 5 * time.Minute
	// maxNamed is the maximum number of message ids in a reminder.
	maxNamed = 5
)

// remind puts one reminder of all late answers into the session's mailbox. The argument records has
// all answers that the session owes. A reminder leaves out unread questions, because these ring by
// themselves. While an earlier reminder is unread, remind sends nothing.
func (l *recordLook) remind(ctx context.Context, late, records []Record) error {
	if len(late) == 0 {
		return nil
	}
	now := l.c.reg.Now()
	ids := map[string]bool{}
	for _, d := range records {
		if again := d.RemindedAt.Add(remindGap); again.After(now) && !d.RemindedAt.After(now) {
			l.next = sessions.Earlier(l.next, again)
			return nil
		}
		if d.Reminder != "" {
			ids[d.Reminder] = true
		}
	}
	for _, d := range late {
		ids[d.ID] = true
	}
	found := Found(ctx, l.c.reg, l.sid, ids)
	for _, f := range found {
		if f.Where != inbox.Archived && f.Message.From == sessions.SystemAlias {
			l.waits = true
			return nil
		}
	}
	late = slices.DeleteFunc(late, func(d Record) bool {
		f, kept := found[d.Key()] // an ephemeral question is not kept
		if kept && f.Where != inbox.Archived {
			l.waits = true
			return true
		}
		until := f.At.Add(min(readGrace, mail.FromSeconds(d.Due).Sub(d.Time())))
		wait := kept && until.After(now) && !f.At.After(now)
		if wait {
			l.next = sessions.Earlier(l.next, until)
		}
		return wait
	})
	if len(late) == 0 {
		return nil
	}
	slices.SortStableFunc(late, func(a, b Record) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.ID, b.ID)) })
	parts := []string{l.sid}
	for _, d := range late {
		parts = append(parts, sessions.Fold(d.From), d.FromSession, d.ID)
	}
	m := mail.Message{To: l.s.Alias, ID: NoticeID(Reminder, parts...), Content: reminderText(late, now)}
	if sessions.CheckID(late[0].ID) == nil {
		m.InReplyTo = late[0].ID
	}
	brief, end := context.WithTimeout(ctx, sessions.KeepWait)
	defer end()
	if err := SendNotice(brief, l.c.reg, l.sid, m, Reminder); err != nil {
		return err
	}
	for _, d := range late {
		l.change(d, func(d *Record) (changed, drop bool) {
			d.Reminders, d.Reminder, d.RemindedAt = 1, m.ID, now.UTC()
			return true, false
		})
	}
	return nil
}

// reminderText returns the text of a reminder. It quotes no message, because the quoted words would
// look like words of c2c.
func reminderText(late []Record, now time.Time) string {
	due := func(d Record) string {
		ago := now.Sub(mail.FromSeconds(d.Due))
		if ago < time.Second {
			return "it is due now"
		}
		return "it was due " + format.Age(ago) + " ago"
	}
	if len(late) == 1 {
		d := late[0]
		return fmt.Sprintf("%s waits for your answer to its %s %s, sent %s ago; %s. c2c thread %s shows it. Answer with c2c reply %[3]s TEXT, or with c2c reply --fail %[3]s TEXT if it cannot be done.",
			cmp.Or(d.Sender(), "somebody"), d.Kind, mail.ShortID(d.ID), format.Age(now.Sub(d.Time())), due(d), mail.ShortID(d.ID))
	}
	var named []string
	for _, d := range late[:min(len(late), maxNamed)] {
		named = append(named, fmt.Sprintf("%s (%s of %s, %s)", mail.ShortID(d.ID), d.Kind, cmp.Or(d.Sender(), "somebody"), due(d)))
	}
	if more := len(late) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("Others wait for %d answers of yours: %s. c2c obligations shows all. Answer each with c2c reply ID TEXT, or with c2c reply --fail ID TEXT if it cannot be done.",
		len(late), strings.Join(named, ", "))
}
