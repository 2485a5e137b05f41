package broker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/wake"
)

// States of an obligation. Refused, Expired and Dead are states, too: the answer said that it cannot be done (reply --fail),
// and nobody has read the message.
const (
	StillOpen  = "open"
	Overdue    = "overdue"
	Answered   = "answered"
	WasSwept   = "swept"       // its session is gone
	HandedOver = "handed-over" // another session has taken over
	GivenUp    = "given-up"    // it has been overdue for so long that nobody waits
)

// endings are how an obligation can end.
var endings = [...]string{Answered, Refused, Expired, Dead, WasSwept, HandedOver, GivenUp}

// Sides of an obligation, as who looks at it sees it.
const (
	SideOwe   = "owe"   // this session owes the answer
	SideOwed  = "owed"  // it waits for the answer
	SideOther = "other" // it is between others
)

// Wakes is what was done to make a session look at a message.
type Wakes struct {
	Count  int       `json:"count"`            // attempts, also those that were filtered or coalesced
	RangAt time.Time `json:"rang_at,omitzero"` // the first that rang
	First  time.Time `json:"first,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Path   string    `json:"path,omitempty"`   // of the last one, a method of package wake
	Result string    `json:"result,omitempty"` // of the last one
}

// Obligation is what a session owes for a question, a task or a review.
type Obligation struct {
	ID        string `json:"message_id"`
	Kind      string `json:"kind"`
	From      string `json:"from_alias"`        // who waits for the answer
	To        string `json:"to_alias"`          // who owes it
	SessionID string `json:"session_id"`        // that one's
	Words     string `json:"words,omitempty"`   // its first words
	Side      string `json:"side"`              // SideOwe, SideOwed or SideOther
	State     string `json:"state"`             // StillOpen, Overdue, or how it has ended
	Bucket    string `json:"bucket"`            // blocking, urgent or normal
	Surface   string `json:"surface_support"`   // of its session when it was sent
	Action    bool   `json:"action_required"`   // always
	Answer    bool   `json:"reply_required"`    // always
	Reply     string `json:"reply,omitempty"`   // id of the answer
	Why       string `json:"why,omitempty"`     // while it is open: why there is no answer yet, in words
	Do        string `json:"do,omitempty"`      // what one can do about that
	Reminders int    `json:"reminders"`         // how often its session was reminded
	MaxWakes  int    `json:"max_wake_attempts"` // so many reminders there may be
	Wakes     Wakes  `json:"wakes"`

	SentAt     time.Time `json:"sent_at"`
	Due        time.Time `json:"due"`
	ObservedAt time.Time `json:"observed_at,omitzero"` // when its session has read it
	AckedAt    time.Time `json:"acked_at,omitzero"`    // when that has said anything to it
	ClosedAt   time.Time `json:"closed_at,omitzero"`
}

// Most obligations of which is told why they are open, and most that are over and told.
const (
	maxWhy    = 200
	maxClosed = 1000
)

// surfaceOf is what can be done for a session. Where nobody knows, nothing can.
func (b *Broker) surfaceOf(s Session) string {
	support, _ := b.surface(s, b.looks())
	return cmp.Or(support, SurfaceDegraded)
}

// Obligations gives what a session owes and what is owed to it, what is due first coming first; a person sees everybody's.
// With all also those that are over, the newest last. It takes no lock of the records and changes nothing. With an error comes
// what could be read.
func (b *Broker) Obligations(ctx context.Context, s Session, all bool) ([]Obligation, error) {
	dir, err := b.subIfThere(owedDir)
	if err != nil || dir == nil {
		return nil, err
	}
	defer dir.Close()
	rows, err := b.rows(ctx)
	if err != nil {
		return nil, err
	}
	v := view{b: b, rows: rows, authors: b.authors(rows), who: s}
	records, closed, err := allDebts(dir, all)
	open, over := v.open(ctx, records)
	for _, d := range closed {
		if v.side(d.Session, d) != "" {
			over = append(over, v.obligation(d.Session, d))
		}
	}
	if !all {
		over = nil
	}
	sort.Slice(open, func(i, j int) bool {
		a, b := &open[i], &open[j]
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.ID, b.ID)) < 0
	})
	sort.Slice(over, func(i, j int) bool {
		a, b := &over[i], &over[j]
		return cmp.Or(a.ClosedAt.Compare(b.ClosedAt), cmp.Compare(a.ID, b.ID)) < 0
	})
	v.tellWhy(ctx, open[:min(len(open), maxWhy)])
	return append(open, over[max(0, len(over)-maxClosed):]...), err
}

// view is one look at obligations.
type view struct {
	b       *Broker
	rows    []row
	authors authors
	who     Session
}

// side says what an obligation is to who looks, "" when it is not shown.
func (v view) side(sid string, d debt) string {
	switch {
	case sid == v.who.ID:
		return SideOwe
	case v.authors.are(v.who.ID, d.Message):
		return SideOwed
	case v.who.State == Person:
		return SideOther
	}
	return ""
}

// open gives what is open, and what has an answer of which the record does not tell yet: the answer was faster than the record,
// or the original has written it.
func (v view) open(ctx context.Context, records map[string][]debt) (open, over []Obligation) {
	for sid, debts := range records {
		records[sid] = slices.DeleteFunc(debts, func(d debt) bool { return v.side(sid, d) == "" })
	}
	answers := v.b.answersTo(ctx, v.rows, records)
	for sid, debts := range records {
		for _, d := range debts {
			if a, ok := answers[owedKey{sid, d.key()}]; ok {
				d.answered(a, time.Time{})
			}
			if d.How != "" {
				over = append(over, v.obligation(sid, d))
			} else {
				open = append(open, v.obligation(sid, d))
			}
		}
	}
	return open, over
}

func (v view) obligation(sid string, d debt) Obligation {
	o := Obligation{
		ID: d.ID, Kind: d.Kind, From: d.From, To: d.To, SessionID: sid, Words: d.FirstWords(40), Side: v.side(sid, d), State: d.How,
		Bucket: d.Bucket(), Surface: cmp.Or(d.Surface, SurfaceDegraded), Action: true, Answer: true, Reply: d.Reply, Reminders: d.Reminders, Wakes: d.Wakes,
		SentAt: d.Time().UTC(), Due: inbox.FromSeconds(d.Due).UTC(), ObservedAt: d.ObservedAt, AckedAt: d.AckedAt, ClosedAt: d.ClosedAt,
	}
	if i := findSID(v.rows, sid); i >= 0 {
		o.To = v.rows[i].alias()
	}
	if w := v.authors.of(d.Message); w != nil {
		o.From = w.alias()
	}
	if o.State == "" {
		o.State = StillOpen
		if !v.b.now().Before(o.Due) {
			o.State = Overdue
		}
	}
	o.MaxWakes = maxReminders(o.Surface)
	return o
}

// owedKey names an obligation in a root.
type owedKey struct {
	sid string
	debtKey
}

func (b *Broker) searchOne(ctx context.Context, sid string, q inbox.Query) ([]inbox.Found, error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	q.Wait = keepWait // who has it locked may be stopped
	return box.Search(ctx, q)
}

// found gives messages of a mailbox by their ids, also those that were read.
func (b *Broker) found(ctx context.Context, sid string, ids map[string]bool) map[debtKey]inbox.Found {
	all := map[debtKey]inbox.Found{}
	found, err := b.searchOne(ctx, sid, withIDs(ids))
	if err != nil && !errors.Is(err, context.Canceled) {
		b.log.Warn("what became of messages is not known", "session", sid, "err", err)
	}
	for _, f := range found {
		all[keyOf(f.Message)] = f
	}
	return all
}

// observed says when messages of a mailbox were read.
func (b *Broker) observed(ctx context.Context, sid string, ids map[string]bool) map[debtKey]time.Time {
	at := map[debtKey]time.Time{}
	for key, f := range b.found(ctx, sid, ids) {
		if f.Where == inbox.Read {
			at[key] = f.At.UTC()
		}
	}
	return at
}

// tellWhy adds why there is no answer, by what the mailboxes tell.
func (v view) tellWhy(ctx context.Context, open []Obligation) {
	ids := map[string]map[string]bool{}
	for _, o := range open {
		if ids[o.SessionID] == nil {
			ids[o.SessionID] = map[string]bool{}
		}
		ids[o.SessionID][o.ID] = true
	}
	there := map[string]map[string][]inbox.Found{} // by session and id
	for sid := range ids {
		there[sid] = map[string][]inbox.Found{}
		for _, f := range v.b.found(ctx, sid, ids[sid]) {
			there[sid][f.Message.ID] = append(there[sid][f.Message.ID], f)
		}
	}
	for i := range open {
		v.tellWhyOne(&open[i], there[open[i].SessionID][open[i].ID])
	}
}

func (v view) tellWhyOne(o *Obligation, found []inbox.Found) {
	var s *Session
	if i := findSID(v.rows, o.SessionID); i >= 0 {
		is := v.b.session(v.rows[i])
		s = &is
	}
	i := slices.IndexFunc(found, func(f inbox.Found) bool {
		w := v.authors.of(f.Message)
		return len(found) == 1 || w != nil && fold(w.alias()) == fold(o.From)
	})
	now := v.b.now()
	if i < 0 {
		o.Why = "the message is not kept any more"
		return
	}
	f := found[i]
	if f.Where == inbox.Read {
		o.ObservedAt = f.At.UTC()
		o.Why = "read at " + Clock(f.At, now) + " and not answered"
		if !o.AckedAt.IsZero() {
			o.Why = "read at " + Clock(f.At, now) + "; " + o.To + " has said something to it at " + Clock(o.AckedAt, now) + ", and the answer is still to come"
		}
		if s != nil {
			o.Why += "; " + v.b.nowOf(*s, false, v.b.looks()).Says(s.Alias, now)
		}
		return
	}
	st := v.b.status(o.ID, o.SessionID, f)
	opens := v.b.opens(o.SessionID, f.Message)
	if st.Held = f.Message.Held != "" && !opens.IsZero(); st.Held {
		o.Why = "it is held until " + Clock(opens, now) + ": the two have answered each other too often without any work in between"
		o.Do = "c2c resume " + o.From + " " + o.To + " lets them go on now"
		return
	}
	if !opens.IsZero() {
		o.Why = "it is not handed over before " + Clock(opens, now)
		return
	}
	v.b.tellWhy(&st, f.Message, s)
	o.Why, o.Do = strings.TrimPrefix("not read yet; "+st.Why, "; "), st.Do
}

// ringFirst is for how long a ring may be faster than the record of its message, which the sender writes behind that.
const ringFirst = 10 * time.Second

// Pushed records what was done to make a session look at messages that wait: the bell of one that asks is counted in its
// obligation. It costs nothing when none asks.
func (b *Broker) Pushed(ctx context.Context, sid string, waiting []inbox.Message, r wake.Ring) error {
	owes := map[debtKey]inbox.Message{}
	for _, m := range waiting {
		if m.Owes() {
			owes[keyOf(m)] = m
		}
	}
	if len(owes) == 0 || !inbox.ValidName(sid) {
		return nil
	}
	err := b.withDebts(sid, func(dir *atomicfile.Dir) error {
		return b.changeDebts(ctx, dir, sid, func(d *debt) (changed, drop bool) {
			if _, rung := owes[d.key()]; !rung {
				return false, false
			}
			delete(owes, d.key())
			d.Wakes.add(r)
			return true, false
		})
	})
	if err != nil {
		return err
	}
	var debts []debt
	for _, m := range owes {
		if b.now().Sub(m.Time()) < ringFirst {
			d := newDebt(m)
			d.Wakes.add(r)
			debts = append(debts, d)
		}
	}
	return b.owe(ctx, sid, false, debts...)
}

func (w *Wakes) add(r wake.Ring) {
	at := r.At.UTC()
	w.Count++
	w.Last, w.Result = at, r.Outcome
	if w.First.IsZero() {
		w.First = at
	}
	if r.Method != "" {
		w.Path = r.Method
	}
	if r.Outcome == wake.Rang && w.RangAt.IsZero() {
		w.RangAt = at
	}
}

// merge adds the rings of another record.
func (w *Wakes) merge(o Wakes) {
	first, last := *w, o
	if o.Last.Before(w.Last) {
		first, last = o, *w
	}
	*w = Wakes{
		Count: w.Count + o.Count, RangAt: earlier(w.RangAt, o.RangAt), First: earlier(w.First, o.First),
		Last: last.Last, Path: cmp.Or(last.Path, first.Path), Result: last.Result,
	}
}
