package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/inbox"
)

// Takeover is what Takeover did, or would do.
type Takeover struct {
	From    string   `json:"from_session_id"`
	To      string   `json:"to_session_id"`
	Alias   string   `json:"alias"`           // what To is called from now on
	Former  string   `json:"former_alias"`    // what it was called
	Waiting int      `json:"waiting"`         // messages that had not been read
	Told    []string `json:"told"`            // aliases of those who had written
	Left    bool     `json:"left,omitempty"`  // some mail could not be moved yet, and comes with the next call of To
	Ended   bool     `json:"ended,omitempty"` // it was done before
}

// ErrRuns: the session is alive, or may be.
var ErrRuns = errors.New("it may still run")

// Takeover gives the alias and the waiting mail of a session to another one, which goes on with its work, and tells those
// who wrote to it. The archive stays where it is. A session that may still run is refused, unless force is said. After a kill
// the same call completes it, and so does the next call of the session that takes over.
func (b *Broker) Takeover(ctx context.Context, old, heir string, force, dry bool) (t Takeover, err error) {
	rows, err := b.rows(ctx)
	if err != nil {
		return t, err
	}
	if done, ok := b.tookOver(rows, old, heir); ok {
		return done, b.completeTakeover(ctx, &done)
	}
	from, to, err := b.takeoverPair(rows, old, heir, force)
	if err != nil {
		return t, err
	}
	t = Takeover{From: from.ID, To: to.ID, Alias: from.Alias, Former: to.Alias, Told: []string{}}
	letters, err := b.writers(ctx, rows, from, to)
	if err != nil {
		return t, err
	}
	for _, l := range letters {
		t.Waiting += l.waiting
		if l.to != nil {
			t.Told = append(t.Told, l.to.alias())
		}
	}
	if dry {
		return t, nil
	}
	if err := b.change(ctx, func(rows []row) ([]row, error) { return b.giveAlias(ctx, rows, t, letters, force) }); err != nil {
		return t, err
	}
	b.record(ctx, "handover", Note{"from_session", t.From}, Note{"to_session", t.To}, Note{"alias", t.Alias})
	err = b.completeTakeover(ctx, &t)
	return t, err
}

// takeoverPair finds the two sessions and refuses what cannot be.
func (b *Broker) takeoverPair(rows []row, old, heir string, force bool) (from, to Session, err error) {
	var both [2]Session
	for i, name := range []string{old, heir} {
		sid, err := sidByName(rows, name)
		if err != nil {
			return from, to, err
		}
		j := findSID(rows, sid)
		if j < 0 {
			return from, to, &UnknownAliasError{Alias: name, Closest: closest(rows, name)}
		}
		both[i] = b.session(rows[j])
		if isPersonID(sid) {
			return from, to, fmt.Errorf("%q is a person, whose mail nobody takes over", name)
		}
		if err := checkExternal(sid); err != nil {
			return from, to, err
		}
	}
	from, to = both[0], both[1]
	if from.ID == to.ID {
		return from, to, fmt.Errorf("%q and %q are one session", old, heir)
	}
	return from, to, refuseRunning(from, force)
}

func refuseRunning(s Session, force bool) error {
	if s.State == Absent || force {
		return nil
	}
	return fmt.Errorf("%s is %s: %w", s.Alias, s.State, ErrRuns)
}

// tookOver says whether a takeover was done, but for mail that is still to come: the alias is the other session's, which was called heir.
func (b *Broker) tookOver(rows []row, old, heir string) (t Takeover, ok bool) {
	r := b.receiver(rows, old)
	if r == nil || len(holders(rows, heir)) > 0 {
		return t, false
	}
	f := b.factsOf(r.sid())
	n := len(f.Former)
	if f.TookOver == "" || n == 0 || fold(f.Former[n-1].Alias) != fold(heir) {
		return t, false
	}
	return Takeover{From: f.TookOver, To: r.sid(), Alias: r.alias(), Former: f.Former[n-1].Alias, Told: []string{}, Ended: true}, true
}

// giveAlias is a takeover in the registry. The writers are told before it, when nothing can stop it but a full disk: behind
// it nobody knows any more whose mail it was. The facts are written before it, too: from then on each call of the session
// brings the mail.
func (b *Broker) giveAlias(ctx context.Context, rows []row, t Takeover, letters []letter, force bool) ([]row, error) {
	i, j := findSID(rows, t.From), findSID(rows, t.To)
	if i < 0 || j < 0 || fold(rows[i].alias()) != fold(t.Alias) {
		return nil, fmt.Errorf("hand over %q: its session has changed meanwhile; look with c2c list and try again", t.Alias)
	}
	if err := refuseRunning(b.session(rows[i]), force); err != nil { // it may have been started meanwhile
		return nil, err
	}
	for _, l := range letters {
		if err := b.tellWriter(ctx, t, l); err != nil {
			b.log.Warn("a writer is not told of a takeover", "session", l.to.sid(), "err", err)
		}
	}
	since := b.factsOf(t.From).AliasSince
	err := b.changeFacts(ctx, t.To, func(f *facts) {
		if f.Alias != t.Alias { // else a call before was killed behind this
			f.Alias = t.Former
		}
		f.rename(t.Alias, b.now())
		f.Named, f.Proposed, f.TookOver, f.AliasSince = true, false, t.From, since
		f.MoveFrom = addMissing(f.MoveFrom, t.From)
	})
	if err != nil {
		return nil, err
	}
	own := rows[j]
	own.setText("alias", t.Alias)
	own.set("canonical_alias", nil)
	rows[j] = own
	return slices.Delete(rows, i, i+1), nil
}

// completeTakeover moves the mail, and tells the session that takes over.
func (b *Broker) completeTakeover(ctx context.Context, t *Takeover) error {
	rows, err := b.rows(ctx)
	if err != nil {
		return err
	}
	i := findSID(rows, t.To)
	if i < 0 {
		return nil
	}
	b.finishMoves(ctx, b.factsOf(t.To).MoveFrom, rows[i])
	t.Left = slices.Contains(b.factsOf(t.To).MoveFrom, t.From)
	// What it has read and not answered, its writers were told of. What it has not read the other session owes.
	b.closeDebts(ctx, t.From, HandedOver, func(inbox.Message) bool { return true })
	text := fmt.Sprintf("You go on with the work of %s: you are %[1]s now, and no longer %s. What it had not read comes to you. What it had read: c2c history --session-id %s",
		t.Alias, t.Former, t.From)
	return b.notify(ctx, t.To, inbox.Message{To: t.Alias, ID: noticeID("handover", t.From, t.To), Content: text}, "handover")
}

// letter is what a session that wrote to another is to hear of its end.
type letter struct {
	to      row // nil: its writer is gone
	waiting int // its messages that were not read
	open    []inbox.Message
}

// maxOpen bounds the questions of one writer that are named, and openLook how far back they are looked for.
const (
	maxOpen  = 5
	openLook = 200
)

// writers gives those who wrote to a session: whose mail waits there, and whose questions it has read and not answered.
func (b *Broker) writers(ctx context.Context, rows []row, from, to Session) (letters []letter, err error) {
	box, err := b.Mailbox(from.ID)
	if err != nil {
		return nil, err
	}
	waiting, err := box.PeekAll(ctx)
	if err != nil {
		return nil, err
	}
	read, err := box.History(ctx, openLook)
	if err != nil {
		return nil, err
	}
	authors := b.authors(rows)
	find := func(m inbox.Message) *letter {
		r := authors.of(m)
		if r != nil && (r.sid() == to.ID || r.sid() == from.ID) {
			r = nil
		}
		i := slices.IndexFunc(letters, func(l letter) bool { return (l.to == nil) == (r == nil) && (r == nil || l.to.sid() == r.sid()) })
		if i < 0 {
			letters, i = append(letters, letter{to: r}), len(letters)
		}
		return &letters[i]
	}
	for _, m := range waiting {
		if m.From != SystemAlias {
			find(m).waiting++
		}
	}
	byIt := func(a inbox.Message) bool { return fold(a.From) == fold(from.Alias) }
	for _, h := range slices.Backward(read) {
		if !slices.Contains([]string{"question", "task", "review"}, h.Kind) {
			continue
		}
		w := authors.of(h.Message)
		if w == nil || w.sid() == to.ID || w.sid() == from.ID {
			continue
		}
		if answered, err := b.hasAnswer(ctx, w.sid(), h.ID, byIt); err != nil || answered {
			continue
		}
		if l := find(h.Message); len(l.open) < maxOpen {
			l.open = append(l.open, h.Message)
		}
	}
	return letters, nil
}

func (b *Broker) tellWriter(ctx context.Context, t Takeover, l letter) error {
	if l.to == nil {
		return nil
	}
	text := fmt.Sprintf("The session of %s is gone. %s goes on with its work, under the name %[1]s", t.Alias, t.Former)
	if l.waiting > 0 {
		text += fmt.Sprintf(", and gets what was not read of yours (messages: %d)", l.waiting)
	}
	text += "."
	if len(l.open) > 0 {
		var names []string
		for _, m := range l.open {
			names = append(names, what(m))
		}
		text += " Read and not answered: " + strings.Join(names, ", ") + "; ask again if you still need it."
	}
	return b.notify(ctx, l.to.sid(), inbox.Message{To: l.to.alias(), ID: noticeID("handover", t.From, t.To, l.to.sid()), Content: text}, "handover")
}

// LeftMailbox opens what a session has left that is not registered any more, by its id.
func (b *Broker) LeftMailbox(sid string) (*inbox.Mailbox, error) {
	used, err := inbox.Sessions(b.root)
	if err != nil {
		return nil, err
	}
	if isPersonID(sid) || !used[sid] {
		return nil, fmt.Errorf("session %q: %w", sid, ErrNoSession)
	}
	return b.Mailbox(sid)
}
