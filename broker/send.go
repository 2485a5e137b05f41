package broker

import (
	"context"
	"fmt"
	"slices"

	"c2c/inbox"
)

// Letter is what a sender writes.
type Letter struct {
	To   string // an alias, in any case
	Body string
	// ID makes a repeated send harmless: a mailbox takes an id of a sender once. Empty for a new one.
	ID        string
	Kind      string // one of Kinds, or empty
	InReplyTo string
	Tag       string // one of Tags, or empty
	// Deferrable mail rings nobody; Ephemeral mail is not archived.
	Deferrable bool
	Ephemeral  bool
}

// Receipt says that a message is on the disk of the receiver's mailbox, and no more. The fields of the original
// come first.
type Receipt struct {
	Queued    bool    `json:"queued"` // always
	TS        float64 `json:"ts"`     // when it was sent, as in the message
	From      string  `json:"from_alias"`
	To        string  `json:"to_alias"`
	ID        string  `json:"message_id"`
	Recipient State   `json:"recipient"`
	Duplicate bool    `json:"duplicate,omitempty"` // the mailbox had this message before
	SessionID string  `json:"-"`                   // the receiver's
}

// Kinds are the kinds of message, Tags what a sender may shout.
func Kinds() []string {
	return []string{"message", "question", "task", "review", "status", "ack", "system"}
}

// Tags are the words that may head a message.
func Tags() []string { return []string{"fail", "blocking", "urgent"} }

// Send puts a letter into the mailbox of an alias. Errors: *UnknownAliasError, ErrSelfSend, and those of
// inbox.Mailbox.Deliver. When it returns nil the message survives a power cut.
func (b *Broker) Send(ctx context.Context, from Session, l Letter) (Receipt, error) {
	if err := l.check(from); err != nil {
		return Receipt{}, err
	}
	rows, err := b.rows(ctx)
	if err != nil {
		return Receipt{}, err
	}
	to := b.receiver(rows, l.To)
	if to == nil {
		return Receipt{}, &UnknownAliasError{Alias: l.To, Closest: closest(rows, l.To)}
	}
	if to.sid() == from.ID || fold(to.alias()) == fold(from.Alias) {
		return Receipt{}, fmt.Errorf("%w: %q is this session's own alias", ErrSelfSend, l.To)
	}
	return b.deliver(ctx, from, to, l)
}

func (l Letter) check(from Session) error {
	if from.ID == "" || from.Alias == "" {
		return fmt.Errorf("send: %w: the sender has no alias", ErrNoSession)
	}
	if l.ID != "" {
		if err := CheckID(l.ID); err != nil {
			return err
		}
	}
	if l.Kind != "" && !slices.Contains(Kinds(), l.Kind) {
		return fmt.Errorf("kind %q is none of %q", l.Kind, Kinds())
	}
	if l.Tag != "" && !slices.Contains(Tags(), l.Tag) {
		return fmt.Errorf("tag %q is none of %q", l.Tag, Tags())
	}
	return nil
}

// CheckID refuses what cannot be the id of a message.
func CheckID(id string) error {
	if !inbox.ValidName(id) {
		return fmt.Errorf("message id %q: 1 to 128 of A-Z a-z 0-9 . _ -, first a letter or digit", id)
	}
	return nil
}

// receiver gives the row of an alias; when the original has left several, one that is alive.
func (b *Broker) receiver(rows []row, alias string) row {
	var best row
	for _, r := range holders(rows, alias) {
		if b.state(r) == Alive {
			return r
		}
		if best == nil {
			best = r
		}
	}
	return best
}

func (b *Broker) deliver(ctx context.Context, from Session, to row, l Letter) (Receipt, error) {
	box, err := b.Mailbox(to.sid())
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{Queued: true, From: from.Alias, To: to.alias(), SessionID: to.sid(), Recipient: b.state(to)}
	m := inbox.Message{
		From: from.Alias, To: to.alias(), Content: l.Body, ID: l.ID, Kind: l.Kind,
		InReplyTo: l.InReplyTo, Tag: l.Tag, Deferrable: l.Deferrable, Ephemeral: l.Ephemeral,
	}
	if l.ID != "" {
		m.FromSession = from.ID
	}
	stored, err := box.Deliver(ctx, m)
	if err != nil {
		return Receipt{}, fmt.Errorf("send to %q: %w", to.alias(), err)
	}
	message := stored.Messages[0]
	r.ID, r.TS, r.Duplicate = message.ID, message.TS, stored.Already[0]
	b.record(ctx, "dm_enqueue", Note{"from_alias", r.From}, Note{"to_alias", r.To}, Note{"message_id", r.ID})
	r.SessionID = b.forward(ctx, to.sid(), to.alias())
	return r, nil
}

// Skipped is a session that SendAll left out.
type Skipped struct {
	Alias  string `json:"alias"`
	Reason string `json:"reason"`
}

// SendAll sends a letter to every session but the sender, the excluded aliases and absent sessions. It goes
// on when one mailbox refuses, and when the time is over: each session is in the answer.
func (b *Broker) SendAll(ctx context.Context, from Session, l Letter, exclude ...string) ([]Receipt, []Skipped, error) {
	if err := l.check(from); err != nil {
		return nil, nil, err
	}
	rows, err := b.rows(ctx)
	if err != nil {
		return nil, nil, err
	}
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
		receipt, err := b.deliver(ctx, from, to, l)
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
	if b.state(to) == Absent {
		return "absent"
	}
	return ""
}
