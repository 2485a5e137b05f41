package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

// Unanswered is the reason when an answer has not come in time.
const Unanswered = "unanswered"

const (
	// So often a session is reminded of what it owes: when the answer is due, and then after twice the time each. Who cannot be
	// rung is told once.
	maxRemindersFull     = 3
	maxRemindersDegraded = 1
	// keptOverdue is for how long an obligation is kept that nobody answers.
	keptOverdue = 30 * 24 * time.Hour
)

func maxReminders(surface string) int {
	if surface == SurfaceFull {
		return maxRemindersFull
	}
	return maxRemindersDegraded
}

// keptOwed is what a Keeper remembers of the records of a session.
type keptOwed struct {
	version atomicfile.Version
	next    time.Time // zero: nothing is due as long as nothing changes
	absent  bool      // reminders wait until the session is back
	news    []news    // what those who have asked are to be told
	last    float64   // when the newest message was sent whose answers were looked for
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
	back := kept.absent && k.isBack(rows, sid)
	if version == kept.version && !back && (kept.next.IsZero() || k.b.now().Before(kept.next)) {
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
	if len(l.edits) > 0 {
		err = k.b.changeDebts(ctx, dir, sid, l.edit)
	}
	kept.version, kept.next, kept.absent, kept.news = version, l.next, l.absent, l.news
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
	absent bool // a reminder is due that an absent session does not get
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
	how       string
}

// edit changes a record as the look has found. Whoever has closed it meanwhile was right.
func (l *owedLook) edit(d *debt) (changed, drop bool) {
	e, ok := l.edits[d.key()]
	switch {
	case !ok:
		return false, false
	case !d.Owes():
		return false, e.told
	case e.answer != nil:
		return d.answered(*e.answer, e.observed), false
	case e.how != "":
		d.How, d.ClosedAt = e.how, l.k.b.now().UTC()
		return true, false
	}
	d.SenderTold, d.Reminders = d.SenderTold || e.told, max(d.Reminders, e.reminders)
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
	var errs []error
	if by := inbox.FromSeconds(d.AnswerBy); d.AnswerBy != 0 && !d.SenderTold {
		if by.After(now) {
			l.next = earlier(l.next, by)
		} else if err := l.k.tellUnanswered(ctx, l.rows, d.Message); err != nil {
			errs = append(errs, err)
		} else {
			e.told = true
		}
	}
	if d.Owes() {
		errs = append(errs, l.remind(ctx, d, &e))
	}
	if e != (owedEdit{reminders: d.Reminders}) {
		l.edits[d.key()] = e
	}
	return errors.Join(errs...)
}

// nextReminder is when the next reminder of an answer is due: when the answer is, and then after twice the time each.
func (l *owedLook) nextReminder(d debt) time.Time { return reminderAt(d, d.Reminders+1) }

// reminderAt is when reminder n is due, n being 1 or more.
func reminderAt(d debt, n int) time.Time {
	due := inbox.FromSeconds(d.Due)
	within := max(due.Sub(d.Time()), time.Second)
	return due.Add(time.Duration(min(float64(within)*(math.Pow(2, float64(n-1))-1), float64(keptOverdue))))
}

// remind reminds a session of an answer that is due, if it has not been reminded often enough. When nobody has looked for long
// it is reminded once, and not of each time that has passed.
func (l *owedLook) remind(ctx context.Context, d debt, e *owedEdit) error {
	b, now := l.k.b, l.k.b.now()
	due := inbox.FromSeconds(d.Due)
	if due.After(now) {
		l.next = earlier(l.next, due)
		return nil
	}
	if forget := due.Add(keptOverdue); forget.After(now) {
		l.next = earlier(l.next, forget)
	} else {
		e.how = GivenUp
		return nil
	}
	if l.s == nil || l.s.State == External {
		return nil // c2c sweep closes it; and who is outside is sent nothing but answers
	}
	if l.s.State == Absent { // it would be read by nobody: who has asked can ask another one
		l.absent = true
		l.tellEnded(d)
		return nil
	}
	most, n := maxReminders(b.surfaceOf(*l.s)), d.Reminders
	for n < most && !reminderAt(d, n+1).After(now) {
		n++
	}
	if n > d.Reminders && b.opens(l.sid, d.Message).IsZero() {
		if err := b.remind(ctx, *l.s, d, n); err != nil {
			return err
		}
		e.reminders = n
	}
	if at := reminderAt(d, n+1); n < maxRemindersFull && at.After(now) { // by then it may be one that can be rung
		l.next = earlier(l.next, at)
	}
	return nil
}

// isBack says whether a session is there, and not absent.
func (k *Keeper) isBack(rows []row, sid string) bool {
	i := findSID(rows, sid)
	return i >= 0 && k.b.state(rows[i]) != Absent
}

// tellEnded tells who has asked that the session that was asked has ended without an answer. Who was told that it has
// ended without reading the question is not told again.
func (l *owedLook) tellEnded(d debt) {
	if l.told.take(d.Message) {
		l.news = append(l.news, news{m: d.Message, s: *l.s, reason: endedUnanswered})
	}
}

// remind puts a reminder into the mailbox of a session, once for each message and number. Unlike other notices it rings.
func (b *Broker) remind(ctx context.Context, s Session, d debt, n int) error {
	about := d.ID
	if CheckID(about) != nil {
		about = ""
	}
	now, short := b.now(), inbox.ShortID(d.ID)
	// Not a word of the message: it would stand there as if c2c had said it.
	text := fmt.Sprintf("%s waits for your answer to its %s %s, sent %s ago; %s. c2c thread %s shows it. Answer with c2c reply %[3]s TEXT, or with c2c reply --fail %[3]s TEXT if it cannot be done.",
		cmp.Or(d.Sender(), "somebody"), d.Kind, short, Age(now.Sub(d.Time())), dueWords(now.Sub(inbox.FromSeconds(d.Due))), short)
	id := noticeID("reminder", s.ID, fold(d.From), d.FromSession, d.ID, fmt.Sprint(n))
	return b.notify(ctx, s.ID, inbox.Message{To: s.Alias, ID: id, InReplyTo: about, Content: text}, Reminder)
}

func dueWords(late time.Duration) string {
	if late < time.Second {
		return "it is due now"
	}
	return "it was due " + Age(late) + " ago"
}

func (k *Keeper) tellUnanswered(ctx context.Context, rows []row, m inbox.Message) error {
	to := k.b.senderOf(rows, m)
	if to == nil {
		return nil
	}
	if has, err := k.b.hasAnswer(ctx, to.sid(), m.ID, func(inbox.Message) bool { return true }); err != nil || has {
		return err
	}
	return k.b.tell(ctx, rows, m, Unanswered, textUnanswered(m))
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
