package sessions

import (
	"c2c/inbox"
	"c2c/wake"
)

// States of a message. There is no "delivered", because c2c says only what it knows.
const (
	Queued = inbox.Queued
	Rung   = "rung" // it waits, and the session was told so
	Handed = inbox.Handed
	Read   = inbox.Read
	Dead   = "dead" // its session was swept
	// Expired is a state too: it was not read in time, and is a dead letter.
)

// ByEvents is the reader that writes the answers to a sender outside on its stream. Nothing tells whether anybody reads them
// there.
const ByEvents = "events"

// AfterRead is the state of a message that a reader has handed over in full, and whose receiver's model has answered since if
// something tells of that: Handed where nothing tells whether it was read.
func AfterRead(by string) string {
	if by == wake.ByTerminal || by == ByEvents {
		return Handed
	}
	return Read
}
