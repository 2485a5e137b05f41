package sessions

import (
	"c2c/inbox"
	"c2c/wake"
)

// States of a message. There is no "delivered", because c2c says only what it knows.
const (
	Queued = inbox.Queued
	Rung   = "rung" // the message waits, and c2c has rung the session
	Handed = inbox.Handed
	Read   = inbox.Read
	Dead   = "dead" // it is a dead letter, because its session was swept
	// notice.Expired is a state, too: the message was not read in time, and is a dead letter.
)

// ByEvents is the reader that writes answers to the event stream of a sender outside c2c. Nothing shows whether the sender reads them.
const ByEvents = "events"

// AfterRead returns the state of a message once the receiver's model has answered. by is the reader that has handed over the whole
// message. The state is Handed, not Read, for a reader whose mail may stay unread although the model answers.
func AfterRead(by string) string {
	if by == wake.ByTerminal || by == ByEvents {
		return Handed
	}
	return Read
}
