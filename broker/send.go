package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"c2c/inbox"
)

// Receipt says that a message is on the disk of the receiver's mailbox, and no more. The fields of the original
// come first.
type Receipt struct {
	Queued    bool      `json:"queued"` // always
	TS        float64   `json:"ts"`     // when it was sent, as in the message
	From      string    `json:"from_alias"`
	To        string    `json:"to_alias"`
	ID        string    `json:"message_id"`
	Recipient State     `json:"recipient"`
	Now       Now       `json:"recipient_now"`       // what it does
	Duplicate bool      `json:"duplicate,omitempty"` // the mailbox had this message before
	Note      string    `json:"note,omitempty"`      // what keeps the receiver from reading it at once, in words
	Held      bool      `json:"held,omitempty"`      // by the loop guard
	HeldUntil time.Time `json:"held_until,omitzero"` // it is handed over then at the latest
	InReplyTo string    `json:"in_reply_to,omitempty"`
	Asked
}

// Asked says of a message that asks within which time its receiver owes an answer. It is zero of any other.
type Asked struct {
	Due    time.Time `json:"due,omitzero"`
	Bucket string    `json:"bucket,omitempty"`          // blocking, urgent or normal
	Action bool      `json:"action_required,omitempty"` // SPEC-091 section 5.3
	Reply  bool      `json:"reply_required,omitempty"`
}

func asked(m inbox.Message) Asked {
	if !m.Owes() {
		return Asked{}
	}
	return Asked{inbox.FromSeconds(m.Due).UTC(), m.Bucket(), true, true}
}

// Kinds lists the kinds of message that a session can send: "system" is c2c's own.
func Kinds() []string {
	return []string{"message", "question", "task", "review", "status", "ack"}
}

// Tags lists the words that mark a message for its reader's eye.
func Tags() []string { return []string{"fail", "blocking", "urgent"} }

// Send puts a message into the mailbox of the alias m.To, in any case. Its kind is one of Kinds, its tag one of Tags,
// or "". A chosen id makes a repeated send harmless: a mailbox takes an id of a sender once. Of m.InReplyTo a part is
// enough, see MessageID. Errors: *UnknownAliasError, *AmbiguousIDError, ErrSelfSend, and those of inbox.Mailbox.Deliver. When it returns nil the message survives a
// power cut.
func (b *Broker) Send(ctx context.Context, from Session, m inbox.Message) (Receipt, error) {
	if err := check(from, m); err != nil {
		return Receipt{}, err
	}
	rows, err := b.rows(ctx)
	if err != nil {
		return Receipt{}, err
	}
	to := b.receiver(rows, m.To)
	if to == nil && fold(m.To) == SystemAlias {
		return Receipt{}, fmt.Errorf("%q is c2c itself, and reads no mail: there is nothing to answer", SystemAlias)
	}
	if to == nil {
		return Receipt{}, &UnknownAliasError{Alias: m.To, Closest: closest(rows, m.To)}
	}
	if to.sid() == from.ID || fold(to.alias()) == fold(from.Alias) {
		return Receipt{}, fmt.Errorf("%w: %q is this session's own alias", ErrSelfSend, m.To)
	}
	if m.InReplyTo, err = b.answered(ctx, from, m.InReplyTo); err != nil {
		return Receipt{}, err
	}
	return b.deliver(ctx, from, to, m)
}

// check refuses what nobody can send.
func check(from Session, m inbox.Message) error {
	if from.ID == "" || from.Alias == "" {
		return fmt.Errorf("send: %w: the sender has no alias", ErrNoSession)
	}
	if fold(from.Alias) == SystemAlias {
		return fmt.Errorf("send: %q is c2c itself: choose another alias with c2c register", from.Alias)
	}
	if m.ID != "" {
		if err := CheckID(m.ID); err != nil {
			return err
		}
	}
	if m.Kind != "" && !slices.Contains(Kinds(), m.Kind) {
		return fmt.Errorf("kind %q is none of %q", m.Kind, Kinds())
	}
	if m.Tag != "" && !slices.Contains(Tags(), m.Tag) {
		return fmt.Errorf("tag %q is none of %q", m.Tag, Tags())
	}
	return nil
}

// CheckID refuses what cannot be the id of a message.
func CheckID(id string) error { return inbox.CheckName("message id", id) }

// receiver gives the row of an alias; when the original has left several, one that is alive.
func (b *Broker) receiver(rows []row, alias string) row {
	all := holders(rows, alias)
	for _, r := range all {
		if len(all) == 1 || b.state(r) == Alive { // to look whether it is costs more than a send can spare
			return r
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// sending is a message on its way to one mailbox.
type sending struct {
	from    Session
	to      row
	reader  Session // that of to
	box     *inbox.Mailbox
	message inbox.Message // as it is stored, from store on
	note    string        // the loop guard's, for the sender
	again   bool          // the mailbox had it before
}

// deliver takes a message the whole way: it is addressed, counted, stored, and only then told of. Nothing is told of one that is
// refused, and nothing refuses one that is stored.
func (b *Broker) deliver(ctx context.Context, from Session, to row, m inbox.Message) (Receipt, error) {
	box, err := b.Mailbox(to.sid())
	if err != nil {
		return Receipt{}, err
	}
	s := &sending{from: from, to: to, reader: b.session(to), box: box, message: m}
	b.address(s)
	if err := b.count(ctx, s); err != nil {
		return Receipt{}, err
	}
	if err := b.store(ctx, s); err != nil {
		return Receipt{}, fmt.Errorf("send to %q: %w", to.alias(), err)
	}
	receipt := b.receipt(s)
	b.follow(ctx, s, receipt.Held)
	return receipt, nil
}

// address writes into the message what its sender cannot choose.
func (b *Broker) address(s *sending) {
	m := &s.message
	m.From, m.To, m.ToAbsent = s.from.Alias, s.to.alias(), s.reader.State == Absent
	m.FromPerson, m.External, m.Due = s.from.State == Person, s.from.State == External, b.dueOf(*m)
	if m.External && m.TellAfter == 0 {
		m.TellAfter = -1 // who wants to know asks for its status
	}
	if m.ID != "" {
		m.FromSession = s.from.ID
	}
}

// count has the loop guard count the message, and hold or refuse it.
func (b *Broker) count(ctx context.Context, s *sending) (err error) {
	s.note, err = b.guard(ctx, s.from, s.to, s.box, &s.message)
	if err != nil && !errors.Is(err, ErrStorm) { // mail is stored all the same
		b.log.Warn("a message is not counted", "to", s.to.sid(), "err", err)
		return nil
	}
	return err
}

// store puts the message on the disk. Whoever looks after deadlines is told of its own before and behind that, see announce.
func (b *Broker) store(ctx context.Context, s *sending) error {
	b.announce(s.message)
	stored, err := s.box.Deliver(ctx, s.message)
	if err != nil {
		return err
	}
	s.message, s.again = stored.Messages[0], stored.Already[0]
	b.announce(s.message)
	return nil
}

// receipt tells the sender what was stored, and what keeps the receiver from reading it.
func (b *Broker) receipt(s *sending) Receipt {
	m, now := s.message, b.nowOf(s.reader, false, b.looks())
	r := Receipt{Queued: true, TS: m.TS, From: s.from.Alias, To: s.to.alias(), ID: m.ID, Recipient: s.reader.State, Now: now,
		Duplicate: s.again, Note: s.reader.note(now, b.now()), InReplyTo: m.InReplyTo, Asked: asked(m)}
	switch {
	case !s.again:
		r.Held, r.HeldUntil, r.Note = m.Held != "", b.opens(s.to.sid(), m), cmp.Or(s.note, r.Note)
	case m.Expired(inbox.Seconds(b.now())):
		r.Note = "it has expired and is not handed over any more: to send it again, give it another id"
	}
	return r
}

// follow does what follows from a stored message. The message waits, whatever of this fails: each step but the log line is made
// up for by those who look after what is owed, and by the next Attach.
func (b *Broker) follow(ctx context.Context, s *sending, held bool) {
	m := s.message
	b.record(ctx, logSent, Note{"from_alias", s.from.Alias}, Note{"to_alias", s.to.alias()}, Note{"message_id", m.ID})
	if err := b.oweFor(ctx, s.reader, m, s.again); err != nil {
		b.log.Warn("nobody will be told when there is no answer", "message_id", m.ID, "err", err)
	}
	if err := b.recordAnswer(ctx, s.from.ID, s.to, m); err != nil {
		b.log.Warn("an answer is not recorded", "message_id", m.ID, "err", err)
	}
	if held {
		b.tellHeld(ctx, s.to.sid(), m)
	}
	b.forward(ctx, s.to.sid(), s.to.alias()) // its session may have lost its row meanwhile
}

// Skipped is a session that SendAll left out.
type Skipped struct {
	Alias  string `json:"alias"`
	Reason string `json:"reason"`
}

// SendAll sends a message to every session but the sender, the excluded aliases, absent sessions and senders outside. It goes
// on when one mailbox refuses, and when the time is over: each session is in the answer.
func (b *Broker) SendAll(ctx context.Context, from Session, m inbox.Message, exclude ...string) ([]Receipt, []Skipped, error) {
	if err := check(from, m); err != nil {
		return nil, nil, err
	}
	rows, err := b.rows(ctx)
	if err != nil {
		return nil, nil, err
	}
	if m.TellAfter == 0 {
		m.TellAfter = -1 // nobody wants to hear of each of many
	}
	m.Due = notAsked
	var sent []Receipt
	var skipped []Skipped
	for _, to := range rows {
		if to.sid() == from.ID || fold(to.alias()) == fold(from.Alias) {
			continue
		}
		if reason := b.skip(to, exclude); reason != "" {
			skipped = append(skipped, Skipped{to.alias(), reason})
			continue
		}
		receipt, err := b.deliver(ctx, from, to, m)
		if err != nil {
			skipped = append(skipped, Skipped{to.alias(), err.Error()})
			continue
		}
		sent = append(sent, receipt)
	}
	return sent, skipped, nil
}

func (b *Broker) skip(to row, exclude []string) string {
	if slices.ContainsFunc(exclude, func(s string) bool { return fold(s) == fold(to.alias()) }) {
		return "excluded"
	}
	switch b.state(to) {
	case Absent:
		return "absent"
	case External:
		return "outside"
	}
	return ""
}
