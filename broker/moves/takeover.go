package moves

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// Takeover describes what TakeOver did, or would do.
type Takeover struct {
	From    string   `json:"from_session_id"`
	To      string   `json:"to_session_id"`
	Alias   string   `json:"alias"`           // the name of To from now on
	Former  string   `json:"former_alias"`    // the name of To before
	Waiting int      `json:"waiting"`         // unread messages
	Told    []string `json:"told"`            // aliases of the senders that get a notice
	Late    bool     `json:"left,omitempty"`  // some mail could not be moved yet; it is moved when To next calls c2c
	Again   bool     `json:"ended,omitempty"` // an earlier call has done the takeover
}

// ErrRuns says that a session is alive, or may be. Then another session takes over from it only
// with force.
var ErrRuns = errors.New("it may still run")

// TakeOver lets one session go on with the work of another: the session heir gets the alias and the
// waiting mail of the session old. TakeOver notifies the senders of that mail, and of questions
// that old has read and not answered. The archive stays where it is. If old may still run and force
// is not set, the error is ErrRuns. If dry is set, nothing changes. After a kill, TakeOver with the
// same arguments completes the takeover. If only the mail has not moved yet, it also moves when the
// heir next calls c2c.
func TakeOver(ctx context.Context, reg *sessions.Registry, old, heir string, force, dry bool) (t Takeover, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return t, err
	}
	if done, ok := tookOver(reg, rows, old, heir); ok {
		if dry {
			done.Late = slices.Contains(reg.Facts.Of(done.To).MoveFrom, done.From)
			return done, nil
		}
		err := completeTakeover(ctx, reg, &done)
		return done, err
	}
	from, to, err := TakeoverPair(reg, rows, old, heir, force)
	if err != nil {
		return t, err
	}
	t = Takeover{From: from.ID, To: to.ID, Alias: from.Alias, Former: to.Alias, Told: []string{}}
	writers, err := Writers(ctx, reg, rows, from, to)
	if err != nil {
		return t, err
	}
	for _, w := range writers {
		t.Waiting += w.waiting
		if w.to != nil {
			t.Told = append(t.Told, w.to.Alias())
		}
	}
	if dry {
		return t, nil
	}
	if err := reg.Change(ctx, func(rows []sessions.Row) ([]sessions.Row, error) { return GiveAlias(ctx, reg, rows, t, writers, force) }); err != nil {
		return t, err
	}
	reg.Events.Record(ctx, "handover", "from_session", t.From, "to_session", t.To, "alias", t.Alias)
	err = completeTakeover(ctx, reg, &t)
	return t, err
}

// TakeoverPair finds the two sessions. It returns an error if the takeover is not possible.
func TakeoverPair(reg *sessions.Registry, rows []sessions.Row, old, heir string, force bool) (from, to sessions.Session, err error) {
	var both [2]sessions.Session
	for i, name := range []string{old, heir} {
		sid, err := callers.SIDByName(rows, name)
		if err != nil {
			return from, to, err
		}
		j := sessions.FindSID(rows, sid)
		if j < 0 {
			return from, to, sessions.UnknownAlias(reg, rows, name)
		}
		both[i] = reg.Session(rows[j])
		if sessions.IsPersonID(sid) {
			return from, to, fmt.Errorf("%q is a person, whose mail nobody takes over", name)
		}
		if err := sessions.CheckExternal(sid); err != nil {
			return from, to, err
		}
	}
	from, to = both[0], both[1]
	if from.ID == to.ID {
		return from, to, fmt.Errorf("%q and %q are one session", old, heir)
	}
	return from, to, refuseRunning(from, force)
}

func refuseRunning(s sessions.Session, force bool) error {
	if s.State == sessions.Absent || force {
		return nil
	}
	return fmt.Errorf("%s is %s: %w", s.Alias, s.State, ErrRuns)
}

// tookOver reports whether an earlier call already did this takeover, perhaps without moving the
// mail. After that call, the session that had the alias heir has the alias old, and the session old
// has no row. The caller may also give their ids, unless a session has such an id as its alias now.
func tookOver(reg *sessions.Registry, rows []sessions.Row, old, heir string) (t Takeover, ok bool) {
	isFree := func(alias string) bool { return len(sessions.Holders(rows, alias)) == 0 }
	for _, r := range rows {
		f := reg.Facts.Of(r.SID())
		n := len(f.Former)
		if f.TookOver == "" || n == 0 {
			continue
		}
		t = Takeover{From: f.TookOver, To: r.SID(), Alias: r.Alias(), Former: f.Former[n-1].Alias, Told: []string{}, Again: true}
		given := reg.Facts.Of(t.From).Alias // the heir may have changed it since
		gave := old == t.From && isFree(old) || sessions.Fold(old) == sessions.Fold(t.Alias)
		took := isFree(heir) && (heir == t.To || sessions.Fold(heir) == sessions.Fold(t.Former))
		if gave && took && sessions.FindSID(rows, t.From) < 0 && (given == "" || sessions.Fold(given) == sessions.Fold(t.Alias)) {
			return t, true
		}
	}
	return Takeover{}, false
}

// GiveAlias changes the registry for a takeover. It first checks everything. Then it notifies the
// senders: after the change the mail moves to the heir, and there no file shows which mail was for
// the old session. Then it writes the heir's facts. From then on, when the heir calls c2c and the
// old session has no row any more, mail is moved. The registry comes last.
func GiveAlias(ctx context.Context, reg *sessions.Registry, rows []sessions.Row, t Takeover, writers []writer, force bool) ([]sessions.Row, error) {
	i, j := sessions.FindSID(rows, t.From), sessions.FindSID(rows, t.To)
	if i < 0 || j < 0 || sessions.Fold(rows[i].Alias()) != sessions.Fold(t.Alias) {
		return nil, fmt.Errorf("hand over %q: its session has changed meanwhile; look with c2c list and try again", t.Alias)
	}
	if err := refuseRunning(reg.Session(rows[i]), force); err != nil { // the session may have been started meanwhile
		return nil, err
	}
	for _, w := range writers {
		if err := TellWriter(ctx, reg, t, w); err != nil {
			reg.Log.Warn("a sender got no notice of a takeover", "session", w.to.SID(), "err", err)
		}
	}
	since := reg.Facts.Of(t.From).AliasSince
	err := reg.Facts.Change(ctx, t.To, func(f *sessions.Facts) {
		if f.Alias != t.Alias { // if they are equal, an earlier call has done this and was killed
			f.Alias = t.Former
		}
		f.Rename(t.Alias, reg.Now())
		f.Named, f.Proposed, f.TookOver, f.AliasSince = true, false, t.From, since
		f.MoveFrom = sessions.AddMissing(f.MoveFrom, t.From)
	})
	if err != nil {
		return nil, err
	}
	own := rows[j]
	own.SetText("alias", t.Alias)
	own.Set("canonical_alias", nil)
	rows[j] = own
	return slices.Delete(rows, i, i+1), nil
}

// completeTakeover moves the mail, and notifies the session that takes over.
func completeTakeover(ctx context.Context, reg *sessions.Registry, t *Takeover) error {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return err
	}
	i := sessions.FindSID(rows, t.To)
	if i < 0 {
		return nil
	}
	Finish(ctx, reg, reg.Facts.Of(t.To).MoveFrom, rows[i])
	t.Late = slices.Contains(reg.Facts.Of(t.To).MoveFrom, t.From)
	// GiveAlias has notified the senders of questions that the old session has read and not
	// answered. Nobody owes these answers any more. The heir owes the answers to the questions that
	// were unread.
	owed.CloseRecords(ctx, reg, t.From, owed.HandedOver, func(mail.Message) bool { return true })
	text := fmt.Sprintf("You go on with the work of %s: you are %[1]s now, and no longer %s. What it had not read comes to you. What it had read: c2c history --session-id %s",
		t.Alias, t.Former, t.From)
	return owed.SendNotice(ctx, reg, t.To, mail.Message{To: t.Alias, ID: owed.NoticeID("handover", t.From, t.To), Content: text}, "handover")
}

// writer is a sender of mail for the old session.
type writer struct {
	to      sessions.Row   // nil: nobody to tell; the sender is gone, or is one of the two sessions
	waiting int            // how many of its messages are unread
	open    []mail.Message // its questions that were read and not answered
}

// maxOpen is the maximum number of questions that a notice to one sender names.
const maxOpen = 5

// Writers returns the senders whose mail waits in a session's mailbox, or whose questions the
// session has read but not answered.
func Writers(ctx context.Context, reg *sessions.Registry, rows []sessions.Row, from, to sessions.Session) (writers []writer, err error) {
	box, err := reg.Mailbox(from.ID)
	if err != nil {
		return nil, err
	}
	waiting, err := box.PeekAll(ctx)
	if err != nil {
		return nil, err
	}
	left, err := sessions.Unread(reg, from.ID) // it moves with the rest
	if err != nil {
		return nil, err
	}
	back := map[mail.Fingerprint]bool{}
	for _, r := range left {
		waiting, back[r.Fingerprint()] = append(waiting, r.Message), true
	}
	read, err := box.Archive().History(ctx, owed.OpenLook)
	if err != nil {
		return nil, err
	}
	authors := reg.Authors(rows)
	find := func(m mail.Message) *writer {
		r := authors.Of(m)
		if r != nil && (r.SID() == to.ID || r.SID() == from.ID) {
			r = nil
		}
		i := slices.IndexFunc(writers, func(w writer) bool { return (w.to == nil) == (r == nil) && (r == nil || w.to.SID() == r.SID()) })
		if i < 0 {
			writers, i = append(writers, writer{to: r}), len(writers)
		}
		return &writers[i]
	}
	for _, m := range waiting {
		if m.From != sessions.SystemAlias {
			find(m).waiting++
		}
	}
	var asked []owed.Record
	for _, h := range slices.Backward(read) {
		if w := authors.Of(h.Message); h.Asks() && !back[h.Fingerprint()] && w != nil && w.SID() != to.ID && w.SID() != from.ID {
			asked = append(asked, owed.NewRecord(h.Message))
		}
	}
	answers, err := owed.AnswersTo(ctx, reg, authors, map[string][]owed.Record{from.ID: asked})
	if err != nil {
		return writers, nil // do not say that a question was not answered
	}
	for _, h := range asked {
		if _, answered := answers[owed.SessionKey{SID: from.ID, Key: h.Key()}]; answered {
			continue
		}
		if asker := find(h.Message); len(asker.open) < maxOpen {
			asker.open = append(asker.open, h.Message)
		}
	}
	return writers, nil
}

// TellWriter notifies one sender of the takeover, if there is one to tell.
func TellWriter(ctx context.Context, reg *sessions.Registry, t Takeover, w writer) error {
	if w.to == nil {
		return nil
	}
	text := fmt.Sprintf("%s goes on with the work of %s, under the name %[2]s", t.Former, t.Alias)
	if w.waiting > 0 {
		text += fmt.Sprintf(", and gets your unread messages (%d)", w.waiting)
	}
	text += "."
	if len(w.open) > 0 {
		var names []string
		for _, m := range w.open {
			names = append(names, owed.DescribeMessage(m))
		}
		text += " Read and not answered: " + strings.Join(names, ", ") + "; ask again if you still need it."
	}
	return owed.SendNotice(ctx, reg, w.to.SID(), mail.Message{To: w.to.Alias(), ID: owed.NoticeID("handover", t.From, t.To, w.to.SID()), Content: text}, "handover")
}

// LeftMailbox opens the mailbox of a session that is no longer registered, by the id of the
// session.
func LeftMailbox(reg *sessions.Registry, sid string) (*inbox.Mailbox, error) {
	used, err := inbox.Sessions(reg.Dir())
	if err != nil {
		return nil, err
	}
	if sessions.IsPersonID(sid) || !used[sid] {
		return nil, fmt.Errorf("session %q: %w", sid, sessions.ErrNoSession)
	}
	return reg.Mailbox(sid)
}
