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
	Dead   = "dead" // its session was swept
	// Expired is a state too: the message was not read in time, and is a dead letter.
)

// ByEvents is the reader that writes answers to the stream of a sender outside. Nothing shows whether they are read there.
const ByEvents = "events"

// AfterRead returns the state of a message that this reader has handed over in full, once the receiver's model has answered. It
// is Handed for a reader after which nothing shows whether the message was read.
func AfterRead(by string) string {
	if by == wake.ByTerminal || by == ByEvents {
		return Handed
	}
	return Read
}
