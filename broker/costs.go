package broker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"c2c/broker/owed"
	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake"
)

// Stats is what c2c stats and /metrics count in a root: its obligations and its mail.
type Stats struct {
	owed.Stats
	Mail Costs `json:"mail"`
}

// ReadStats counts obligations, and the mail since a time. It takes no lock and changes nothing.
func (b *Broker) ReadStats(ctx context.Context, since time.Time) (Stats, error) {
	over, err := owed.ReadStats(ctx, b.Registry)
	costs, cerr := b.Costs(ctx, since)
	return Stats{over, costs}, errors.Join(err, cerr)
}

// NoStats returns the statistics of a root that does not exist.
func NoStats() Stats {
	none := tally{}
	return Stats{owed.Stats{Over: map[string]int{}, Surfaces: []owed.SurfaceStats{}}, none.costs()}
}

// Costs is what the mail of a root has cost since a time, and what waits now. The messages are
// those in the archives, which keep no ephemeral message whose id c2c chose. The rings are those in
// broker.log.
type Costs struct {
	Since      time.Time      `json:"since"`
	RingsSince time.Time      `json:"rings_since"` // later than Since if broker.log does not go back so far
	Total      Flow           `json:"total"`
	Rings      []Rings        `json:"rings"`
	Sessions   []SessionCosts `json:"sessions"` // those with the most bytes first
	Pairs      []PairCosts    `json:"pairs"`    // those with the most messages first
}

// CostTime is the time for which mail is counted, unless somebody asks for another one.
const CostTime = 24 * time.Hour

// Flow counts the mail that has gone one way.
type Flow struct {
	Handed  int   `json:"handed"`        // messages; one that was put back and handed over again counts twice
	Context int64 `json:"context_bytes"` // what c2c has written into the contexts of models for them, see written
	// Took is how long the messages waited from the send to the hand-over, in seconds.
	Took    owed.Latency `json:"handed_after_seconds"`
	Waiting int          `json:"waiting"`            // messages, now
	Oldest  time.Time    `json:"oldest_at,omitzero"` // when the oldest of them was sent

	took []float64
}

// SessionCosts has the mail to a session, and how it was rung.
type SessionCosts struct {
	Alias string `json:"alias"` // of a sender without a mailbox here, the name under which it writes
	SID   string `json:"session_id,omitempty"`
	Sent  int    `json:"sent"` // messages under this name that were handed over, or wait
	Flow
	Rings  []Rings       `json:"rings"`
	Tokens client.Tokens `json:"tokens,omitzero"`
}

// PairCosts has the mail from one session to another one.
type PairCosts struct {
	From string `json:"from"`
	To   string `json:"to"`
	Flow
}

// Rings counts the rings by one method with one outcome, see wake.Ring.
type Rings struct {
	Method  string `json:"method"` // "hook": an announcement to a session that works
	Outcome string `json:"outcome"`
	Count   int    `json:"count"`
}

// Costs counts the mail since a time, and the mail that waits.
func (b *Broker) Costs(ctx context.Context, since time.Time) (c Costs, err error) {
	t := tally{since: since.Truncate(time.Microsecond).UTC(), sessions: map[string]*SessionCosts{}, pairs: map[[2]string]*PairCosts{}, rings: map[ringsOf]int{}}
	rows, err := b.Rows(ctx)
	if err != nil {
		return t.costs(), err
	}
	list, lerr := b.List(ctx)
	b.AddTokens(list)
	sids, err := b.Mailboxes(ctx)
	broken := []error{lerr, err}
	for _, sid := range sids {
		box, err := b.Mailbox(sid)
		if err == nil {
			t.sid, t.to = sid, b.nameOf(rows, sid)
			err = t.mailbox(ctx, box)
		}
		broken = append(broken, err)
	}
	for _, row := range list {
		if of := t.sessions[sessions.Fold(row.Alias)]; of != nil || row.Tokens.Input > 0 {
			of = t.session(row.Alias)
			of.SID, of.Tokens = row.ID, row.Tokens
		}
	}
	back, err := b.Events.RungSince(t.since, func(r sessions.RingRecord) {
		if r.Outcome != wake.Coalesced && r.Outcome != wake.Filtered && r.Outcome != wake.InPart { // these are no rings
			of := t.session(b.nameOf(rows, r.SID))
			of.SID = cmp.Or(of.SID, r.SID)
			t.rings[ringsOf{of, r.Method, r.Outcome}]++
			t.rings[ringsOf{nil, r.Method, r.Outcome}]++
		}
	})
	c = t.costs()
	c.RingsSince = back.UTC()
	return c, errors.Join(append(broken, err)...)
}

// nameOf returns the alias of a session, or the last one that it had, or else its id.
func (b *Broker) nameOf(rows []sessions.Row, sid string) string {
	if i := sessions.FindSID(rows, sid); i >= 0 {
		return rows[i].Alias()
	}
	return cmp.Or(b.Facts.Of(sid).Alias, sid)
}

// ringsOf is the key of a count of rings. If of is nil, it counts the rings of all sessions.
type ringsOf struct {
	of              *SessionCosts
	method, outcome string
}

// tally is the state of one call of Broker.Costs.
type tally struct {
	since    time.Time
	sid, to  string // the session whose mailbox is read, and its name
	total    Flow
	sessions map[string]*SessionCosts // by folded name
	pairs    map[[2]string]*PairCosts // by the folded names of sender and receiver
	rings    map[ringsOf]int
}

func (t *tally) session(name string) *SessionCosts {
	key := sessions.Fold(name)
	if t.sessions[key] == nil {
		t.sessions[key] = &SessionCosts{Alias: name, Rings: []Rings{}}
	}
	return t.sessions[key]
}

// flows returns the counts in which a message to the present session belongs.
func (t *tally) flows(m mail.Message) []*Flow {
	if sessions.IsHostID(t.sid) { // an outbox has mail for several receivers
		t.to = m.To
	}
	key := [2]string{sessions.Fold(m.From), sessions.Fold(t.to)}
	if t.pairs[key] == nil {
		t.pairs[key] = &PairCosts{From: m.From, To: t.to}
	}
	t.session(m.From).Sent++
	to := t.session(t.to)
	if !sessions.IsHostID(t.sid) {
		to.SID = cmp.Or(to.SID, t.sid)
	}
	return []*Flow{&t.total, &to.Flow, &t.pairs[key].Flow}
}

// mailbox counts the mail of one mailbox. It reads the archive first: so a message that is handed
// over meanwhile counts at most once.
func (t *tally) mailbox(ctx context.Context, box *inbox.Mailbox) error {
	var batch []inbox.ArchiveRecord // handed over at once, the newest first
	err := box.Archive().Newest(ctx, 0, nil, nil, func(r inbox.ArchiveRecord) (more bool) {
		if more = r.DrainedAt >= mail.Seconds(t.since); !more {
			return false
		}
		if len(batch) > 0 && (batch[0].DrainedAt != r.DrainedAt || batch[0].DrainedBy != r.DrainedBy) {
			t.handed(batch)
			batch = batch[:0]
		}
		batch = append(batch, r)
		return true
	})
	t.handed(batch)
	steps, lerr := box.Observe(false).Look()
	for _, s := range steps {
		if s.What != inbox.Waiting {
			continue
		}
		for _, f := range t.flows(s.Message) {
			f.Waiting++
			if at := s.Message.Time().UTC(); f.Oldest.IsZero() || at.Before(f.Oldest) {
				f.Oldest = at
			}
		}
	}
	return errors.Join(err, lerr)
}

// handed counts messages that one reader has handed over at once, the newest first.
func (t *tally) handed(batch []inbox.ArchiveRecord) {
	msgs := make([]mail.Message, 0, len(batch))
	for _, r := range slices.Backward(batch) {
		msgs = append(msgs, r.Message)
	}
	for i, m := range msgs {
		at, size := mail.FromSeconds(batch[0].DrainedAt), 0
		if !sessions.IsHostID(t.sid) && !sessions.IsPersonID(t.sid) && !sessions.IsExternalID(t.sid) { // these have no model
			size = written(batch[0].DrainedBy, msgs, i, at)
		}
		for _, f := range t.flows(m) {
			f.Handed++
			f.Context += int64(size)
			f.took = append(f.took, max(0, at.Sub(m.Time()).Seconds()))
		}
	}
}

// written returns how many bytes of text a reader has written for the message i of msgs into the
// context of a model: the envelope, and for the first message also the sentence before it. The
// frame that the client puts around them does not count, and neither does the text of a ring.
func written(by string, msgs []mail.Message, i int, at time.Time) int {
	m, before := msgs[i], 0
	if m.ContentDropped {
		return 0 // the text of an ephemeral message is gone
	}
	switch by {
	case inbox.ByTool: // as JSON
		if i == 0 {
			before = len("[")
		}
		m.GuardHops, m.GuardChain = 0, ""
		text, _ := m.MarshalJSON()
		return before + len(text) + len(",")
	case wake.BySocket, wake.ByServer, wake.ByChannel:
		return len(m.Envelope()) + len("\n")
	}
	if i == 0 {
		before = len(mail.Preface(msgs))
	}
	return before + len("\n") + len(m.EnvelopeAt(at))
}

// costs returns the result.
func (t *tally) costs() Costs {
	c := Costs{Since: t.since, Total: t.total.summed(), Rings: []Rings{}, Sessions: []SessionCosts{}, Pairs: []PairCosts{}}
	for r, n := range t.rings {
		list := &c.Rings
		if r.of != nil {
			list = &r.of.Rings
		}
		*list = append(*list, Rings{r.method, r.outcome, n})
	}
	for _, one := range t.sessions {
		one.Flow = one.Flow.summed()
		sortRings(one.Rings)
		c.Sessions = append(c.Sessions, *one)
	}
	sortRings(c.Rings)
	for _, one := range t.pairs {
		one.Flow = one.Flow.summed()
		c.Pairs = append(c.Pairs, *one)
	}
	slices.SortFunc(c.Sessions, func(a, b SessionCosts) int {
		return cmp.Or(cmp.Compare(b.Context, a.Context), cmp.Compare(b.Handed+b.Waiting, a.Handed+a.Waiting), cmp.Compare(a.Alias, b.Alias))
	})
	slices.SortFunc(c.Pairs, func(a, b PairCosts) int {
		return cmp.Or(cmp.Compare(b.Handed+b.Waiting, a.Handed+a.Waiting), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return c
}

func (f Flow) summed() Flow {
	f.Took, f.took = owed.LatencyOf(f.took), nil
	return f
}

func sortRings(all []Rings) {
	slices.SortFunc(all, func(a, b Rings) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Outcome, b.Outcome))
	})
}
