package broker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
)

// Obligation is an answer that a session owes for a question, a task or a review.
type Obligation struct {
	ID        string     `json:"message_id"`
	Kind      string     `json:"kind"`
	From      string     `json:"from_alias"`        // the alias that waits for the answer
	To        string     `json:"to_alias"`          // the alias that owes the answer
	SessionID string     `json:"session_id"`        // the session that owes the answer
	Words     string     `json:"words,omitempty"`   // the first words of the message
	Side      string     `json:"side"`              // SideOwe, SideOwed or SideOther
	State     string     `json:"state"`             // StillOpen, Overdue, or how it has ended
	Bucket    string     `json:"bucket"`            // blocking, urgent or normal
	Surface   string     `json:"surface_support"`   // of the owing session, when the message was sent
	Action    bool       `json:"action_required"`   // always true
	Answer    bool       `json:"reply_required"`    // always true
	Reply     string     `json:"reply,omitempty"`   // id of the answer
	Why       string     `json:"why,omitempty"`     // while it is open: a sentence why there is no answer yet
	Do        string     `json:"do,omitempty"`      // what a person can do about it
	Reminders int        `json:"reminders"`         // how often the session was reminded
	MaxWakes  int        `json:"max_wake_attempts"` // maximum of Reminders
	Wakes     owed.Wakes `json:"wakes"`

	KnownBy string `json:"known_by,omitempty"` // how c2c knew the sender of the message, see mail.Message

	SentAt     time.Time `json:"sent_at"`
	Due        time.Time `json:"due"`
	ObservedAt time.Time `json:"observed_at,omitzero"` // when the receiver has read the message
	AckedAt    time.Time `json:"acked_at,omitzero"`    // when the receiver first wrote something about it
	ClosedAt   time.Time `json:"closed_at,omitzero"`
}

// Sides of an obligation, as seen by the session for which Obligations is called.
const (
	SideOwe   = "owe"   // this session owes the answer
	SideOwed  = "owed"  // this session waits for the answer
	SideOther = "other" // the obligation is between other sessions
)

// maxWhy limits how many open obligations are explained, and maxClosed how many closed ones are
// listed.
const (
	maxWhy    = 200
	maxClosed = 1000
)

// Obligations returns the answers that a session owes, and those that others owe to it, ordered by
// deadline. For a person it returns all obligations of the root. If all is set, it adds the closed
// ones, the newest last. It takes no lock of the records and changes nothing. With an error, it
// still returns the obligations that it could read.
func Obligations(ctx context.Context, reg *sessions.Registry, s sessions.Session, all bool) ([]Obligation, error) {
	dir, err := reg.SubIfThere(owed.Directory)
	if err != nil || dir == nil {
		return nil, err
	}
	defer dir.Close()
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	v := view{reg: reg, authors: reg.Authors(rows), viewer: s, look: reg.Prober()}
	records, closed, err := owed.AllRecords(dir, all)
	open, over, searchErr := v.open(ctx, records)
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
	return append(open, over[max(0, len(over)-maxClosed):]...), errors.Join(err, searchErr)
}

// view has the data of one call of Obligations. The field viewer is the session for which
// Obligations was called.
type view struct {
	reg     *sessions.Registry
	authors *sessions.Authors
	viewer  sessions.Session
	look    sessions.Prober
}

// side returns whether the viewer owes the answer or waits for it. It returns "" if the viewer may
// not see the obligation.
func (v view) side(sid string, d owed.Record) string {
	switch {
	case sid == v.viewer.ID:
		return SideOwe
	case v.authors.Wrote(v.viewer.ID, d.Message):
		return SideOwed
	case v.viewer.IsProvenPerson():
		return SideOther
	}
	return ""
}

// open splits the records into those that are still open, and those whose answer is already in a
// mailbox but not in the record. Such an answer came before the record was written.
func (v view) open(ctx context.Context, records map[string][]owed.Record) (open, over []Obligation, err error) {
	for sid, list := range records {
		records[sid] = slices.DeleteFunc(list, func(d owed.Record) bool { return v.side(sid, d) == "" })
	}
	answers, err := owed.AnswersTo(ctx, v.reg, v.authors, records)
	for sid, list := range records {
		for _, d := range list {
			if a, ok := answers[owed.SessionKey{SID: sid, Key: d.Key()}]; ok {
				d.Answered(a, time.Time{})
			}
			if d.How != "" {
				over = append(over, v.obligation(sid, d))
			} else {
				open = append(open, v.obligation(sid, d))
			}
		}
	}
	return open, over, err
}

func (v view) obligation(sid string, d owed.Record) Obligation {
	o := Obligation{
		ID: d.ID, Kind: d.Kind, From: d.From, To: d.To, SessionID: sid, Words: d.FirstWords(40), Side: v.side(sid, d), State: d.How,
		Bucket: d.Bucket(), Surface: cmp.Or(d.Surface, sessions.SurfaceDegraded), Action: true, Answer: true, Reply: d.Reply, Reminders: d.Reminders, Wakes: d.Wakes,
		SentAt: d.Time().UTC(), Due: mail.FromSeconds(d.Due).UTC(), ObservedAt: d.ObservedAt, AckedAt: d.AckedAt, ClosedAt: d.ClosedAt,
	}
	o.KnownBy = mail.By(d.Message)
	if i := sessions.FindSID(v.authors.Rows, sid); i >= 0 {
		o.To = v.authors.Rows[i].Alias()
	}
	if w := v.authors.Of(d.Message); w != nil {
		o.From = w.Alias()
	}
	if o.State == "" {
		o.State = owed.StillOpen
		if !v.reg.Now().Before(o.Due) {
			o.State = owed.Overdue
		}
	}
	o.MaxWakes = owed.MaxReminders
	return o
}

// tellWhy adds to each obligation why there is no answer yet. It finds the reason in the mailboxes.
func (v view) tellWhy(ctx context.Context, open []Obligation) {
	ids := map[string]map[string]bool{}
	for _, o := range open {
		if ids[o.SessionID] == nil {
			ids[o.SessionID] = map[string]bool{}
		}
		ids[o.SessionID][o.ID] = true
	}
	there := map[string]map[string][]inbox.Found{} // messages by session and id
	for sid := range ids {
		there[sid] = map[string][]inbox.Found{}
		for _, f := range owed.Found(ctx, v.reg, sid, ids[sid]) {
			there[sid][f.Message.ID] = append(there[sid][f.Message.ID], f)
		}
	}
	for i := range open {
		v.tellWhyOne(&open[i], there[open[i].SessionID][open[i].ID])
	}
}

func (v view) tellWhyOne(o *Obligation, found []inbox.Found) {
	var s *sessions.Session
	if i := sessions.FindSID(v.authors.Rows, o.SessionID); i >= 0 {
		receiver := v.look.Session(v.authors.Rows[i])
		s = &receiver
	}
	i := slices.IndexFunc(found, func(f inbox.Found) bool {
		w := v.authors.Of(f.Message)
		return len(found) == 1 || w != nil && sessions.Fold(w.Alias()) == sessions.Fold(o.From)
	})
	now := v.reg.Now()
	if i < 0 {
		o.Why = "the message is not kept any more"
		return
	}
	f := found[i]
	st := StatusOf(v.reg, o.ID, o.SessionID, f)
	opens := owed.OpensAt(v.reg, o.SessionID, f.Message)
	st.NotBefore, st.Held = opens, f.Message.Held != "" && !opens.IsZero()
	CompleteStatus(v.reg, &st, f.Message, s)
	switch {
	case st.Held:
		o.Why = "it is held until " + format.Clock(opens, now) + ": the two have answered each other too often without any work in between"
		o.Do = "c2c resume " + o.From + " " + o.To + " lets them go on now"
	case !opens.IsZero():
		o.Why = "it is not handed over before " + format.Clock(opens, now)
	case st.State != sessions.Read && (f.Where != inbox.Archived || st.Host+st.Project != "" && (st.State == sessions.Queued || st.State == sessions.Rung)):
		o.Why, o.Do = "not read yet; "+st.Why, st.Do
	default:
		o.ObservedAt = cmp.Or(st.HandedAt, st.At)
		o.Why = st.Way[len(st.Way)-1]
		if st.State == sessions.Read && st.Host == "" {
			o.Why = "read after " + format.Clock(o.ObservedAt, now)
		}
		if st.State == sessions.Read {
			o.Why += " and not answered"
		}
		if !o.AckedAt.IsZero() {
			o.Why += "; " + o.To + " has said something to it at " + format.Clock(o.AckedAt, now) + ", and the answer is still to come"
		}
		if s != nil {
			o.Why += "; " + v.look.Now(*s, false).Says(s.Alias, now)
		}
	}
}
