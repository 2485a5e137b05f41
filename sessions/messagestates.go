package sessions

import (
	"c2c/inbox"
)

// States of a message. There is no state "delivered", because c2c says only what it knows.
const (
	Queued = inbox.Queued
	Rung   = "rung" // the message waits, and c2c has rung the session
	Handed = inbox.Handed
	Read   = inbox.Read
	Dead   = "dead" // the message is a dead letter, because its session was swept
	// owed.Expired is a state, too: the message was not read in time, and is a dead letter.
)

// ByEvents is the reader that writes answers to the event stream of a sender outside c2c. Nothing
// shows whether the sender reads them.
const ByEvents = "events"

// AfterRead returns the state of a message after the receiver's model has answered. The argument
// reader names the reader that has handed over the whole message. What was written to an event
// stream may stay unread although the model answers: then the state is Handed, not Read.
func AfterRead(reader string) string {
	if reader == ByEvents {
		return Handed
	}
	return Read
}
