package inbox

import (
	"fmt"
	"slices"

	"c2c/inbox/mail"
)

// Stored is the result of Deliver.
type Stored struct {
	Messages []mail.Message // as stored, in the order of the call, with ids and times
	Already  []bool         // Already[i]: Messages[i] was there already, so it was not stored again
}

// IDTakenError says that the sender has used this id before, for another message.
type IDTakenError struct{ ID, From string }

func (e *IDTakenError) Error() string {
	return fmt.Sprintf("%s has sent another message with the id %q: choose a new id, or repeat that message word for word", e.From, e.ID)
}

// delivery has the messages that one call of Deliver stores.
type delivery struct {
	Stored
	chosen      []bool // chosen[i]: the caller chose the id of Messages[i], so the mailbox may have the message already
	maybeStored bool   // another sender has claimed the messages, and perhaps stored them
	moved       bool   // see Move
}

func (m *Mailbox) newDelivery(msgs []mail.Message, areNew bool) (*delivery, error) {
	d := &delivery{Stored: Stored{slices.Clone(msgs), make([]bool, len(msgs))}, chosen: make([]bool, len(msgs))}
	now := m.now()
	for i := range d.Messages {
		msg := &d.Messages[i]
		if err := msg.Check(); err != nil {
			return nil, err
		}
		if d.chosen[i] = msg.ID != "" && !areNew; msg.ID == "" {
			msg.ID = mail.NewID(now)
		}
		if msg.TS == 0 {
			msg.TS = mail.Seconds(now)
		}
	}
	return d, nil
}

// mayBeStored adds to an error that the message may be stored all the same, and how to repeat it: a
// message with the same id is stored only once.
func (d *delivery) mayBeStored(err error) error {
	if d.moved {
		return err
	}
	return fmt.Errorf("%w; the message may be stored all the same: repeat it with the id %s", err, d.Messages[0].ID)
}

// The method fresh returns the messages that are not stored yet. For the others it puts the stored
// message into d.Messages.
func (m *Mailbox) fresh(d *delivery) (fresh []mail.Message, err error) {
	ids := map[string]bool{}
	for i, msg := range d.Messages {
		if d.chosen[i] || d.maybeStored {
			ids[msg.ID] = true
		}
	}
	there, err := m.withIDs(ids, d.moved)
	if err != nil {
		return nil, err
	}
	for i, msg := range d.Messages {
		old, repeats, err := repeats(msg, there[msg.ID], d.moved)
		if err != nil {
			return nil, err
		}
		if d.Messages[i], d.Already[i] = old, repeats && !d.maybeStored; !repeats {
			fresh = append(fresh, msg)
		}
		if ids[msg.ID] {
			there[msg.ID] = append(there[msg.ID], msg)
		}
	}
	return fresh, nil
}

// The function repeats searches for m among the stored messages with the id of m. If it finds m, it
// returns the stored message, else m itself. In a move, a different message with this id is no
// error, and a record without content does not prove that its message was m.
func repeats(m mail.Message, stored []mail.Message, moved bool) (_ mail.Message, repeats bool, err error) {
	for _, old := range stored {
		switch {
		case !m.SameSender(old), !mail.SameReceiver(m, old), old.ShownAt < m.ShownAt: // what was shown before m waited again does not count
		case old.ContentDropped && !moved, old.Content == m.Content && !old.ContentDropped:
			return old, true, nil
		case !moved:
			err = &IDTakenError{m.ID, m.From}
		}
	}
	return m, false, err
}
