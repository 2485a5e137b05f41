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

func (b *Broker) deliver(ctx context.Context, from Session, to row, m inbox.Message) (Receipt, error) {
	box, err := b.Mailbox(to.sid())
	if err != nil {
		return Receipt{}, err
	}
	receiver := b.session(to)
	r := Receipt{Queued: true, From: from.Alias, To: to.alias(), Recipient: receiver.State, InReplyTo: m.InReplyTo}
	m.From, m.To, m.ToAbsent = from.Alias, to.alias(), r.Recipient == Absent
	m.FromPerson, m.External, m.Due = from.State == Person, from.State == External, b.dueOf(m)
	if m.External && m.TellAfter == 0 {
		m.TellAfter = -1 // who wants to know asks for its status
	}
	if m.ID != "" {
		m.FromSession = from.ID
	}
	note, err := b.guard(ctx, from, to, box, &m)
	if errors.Is(err, ErrStorm) {
		return Receipt{}, err
	}
	if err != nil { // mail is stored all the same
		b.log.Warn("a message is not counted", "to", to.sid(), "err", err)
	}
	b.announce(m)
	stored, err := box.Deliver(ctx, m)
	if err != nil {
		return Receipt{}, fmt.Errorf("send to %q: %w", to.alias(), err)
	}
	message := stored.Messages[0]
	b.announce(message)
	r.Now = b.nowOf(receiver, false, b.looks())
	r.Note = receiver.note(r.Now, b.now())
	r.ID, r.TS, r.Duplicate = message.ID, message.TS, stored.Already[0]
	b.record(ctx, logSent, Note{"from_alias", r.From}, Note{"to_alias", r.To}, Note{"message_id", r.ID})
	r.Asked = asked(message)
	if err := b.oweFor(ctx, receiver, message, r.Duplicate); err != nil { // it is stored, and waits for its answer all the same
		b.log.Warn("nobody will be told when there is no answer", "message_id", message.ID, "err", err)
	}
	if err := b.recordAnswer(ctx, from.ID, to, message); err != nil { // who looks after what is owed will see it
		b.log.Warn("an answer is not recorded", "message_id", message.ID, "err", err)
	}
	if r.Duplicate && message.Expired(inbox.Seconds(b.now())) {
		r.Note = "it has expired and is not handed over any more: to send it again, give it another id"
	}
	if !r.Duplicate {
		r.Held, r.HeldUntil, r.Note = m.Held != "", b.opens(to.sid(), message), cmp.Or(note, r.Note)
		if r.Held {
			b.tellHeld(ctx, to.sid(), message)
		}
	}
	b.forward(ctx, to.sid(), to.alias())
	return r, nil
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
