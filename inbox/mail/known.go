package mail

import "strings"

// These words say how c2c knows who wrote a message. c2c finds this out when the message is sent,
// and stores the word in the message. A program that writes a mailbox file itself can write any
// word.
const (
	ByProcess = "process" // the sender's program runs below the client of its session
	ByPerson  = "person"  // a person's terminal, or a page with the person's login
	ByOutside = "outside" // the key of a sender outside
	ByHost    = "host"    // the signature of another machine: that machine says which of its sessions wrote
	ByClaim   = "claimed" // only the sender's own word: --from, a variable, or the id of a session that is not its own
)

const known = " " + ByProcess + " " + ByPerson + " " + ByOutside + " " + ByHost + " " + ByClaim + " "

// By returns how c2c knows the sender. It returns "" if c2c does not know the sender: another
// program or an older c2c has stored the message, or c2c itself has written it.
func By(m Message) string {
	switch {
	case m.External:
		return ByOutside
	case m.KnownBy == "" || !strings.Contains(known, " "+m.KnownBy+" "):
		return ""
	}
	return m.KnownBy
}

// Starter returns the alias of the session that has started the sender's client, or "".
func Starter(m Message) string {
	if CheckAlias(m.StartedBy) != nil {
		return ""
	}
	return m.StartedBy
}
