package sessions

import (
	"cmp"
	"strings"
	"time"

	"c2c/client"
	"c2c/internal/format"
)

// says has the words for each state. They follow the session's alias.
var says = format.Pairs{
	{string(Busy), "is in a turn"}, {string(Idle), "is idle"}, {string(Waiting), "waits for its person"}, {string(Away), "is shown in no terminal"},
	{string(Absent), "is absent"}, {string(Person), "is a person"}, {string(External), "is outside"}, {string(Remote), "is on another machine"}, {string(Alive), "runs"}, {string(Unknown), "may run or not"},
}

// Says describes what a session does: "birch waits for its person (3 min)".
func (n Now) Says(alias string, now time.Time) string {
	text := alias + " " + says.Of(string(n.Does))
	if !n.Since.IsZero() {
		text += " (" + format.Age(now.Sub(n.Since)) + ")"
	}
	return text
}

// Outlook describes what happens to a message that a session has not read yet; "" if nothing delays the message. Outlook promises no more
// than the state shows.
func (s Session) Outlook(n Now) string {
	profile, _ := client.Find(s.Client)
	switch {
	case n.Does == Busy:
		return cmp.Or(profile.InTurn, "its next call of a tool of c2c tells of the message")
	case n.Does == Waiting:
		return "its model reads nothing until then"
	case n.Does == Absent, n.Does == Away:
		return "the message waits until it is back"
	case n.Does == External && s.Client == ClientSigned:
		return "it signs what it sends and has no token to read with, so nobody there gets the message"
	case n.Does == External && s.Client == ClientDenied:
		return "its key was taken away, so nobody there gets the message until c2c senders allow makes another"
	case n.Does == External:
		return "its program gets the message from GET /events"
	case s.Quiet:
		return "it does not want to be disturbed, so the message waits for its next turn"
	case client.Typed(s.Client) && s.Pane == "" && !s.HasBell() && (n.Does == Idle || n.Does == Alive):
		return Unrung
	}
	return ""
}

// Unrung says what happens to a message for a session if no process has recorded that it rings the session. A process may ring the session
// all the same, see HasBell.
const Unrung = "c2c knows of nothing that rings it: its next turn brings the message"

// RingerEnded is the reason that Surface returns if the process that rang the session was killed, and no other rings it.
const RingerEnded = "the process of c2c that rang it has ended, and c2c knows of no other"

// NothingComes says what happens to a message for a session of which TakenOut is true.
const NothingComes = "c2c was uninstalled while its client ran, so nothing brings it mail"

// PersonReads says how a person gets the message, because nothing wakes a person.
func (s Session) PersonReads() string { return s.Alias + " reads it with c2c poll-inbox" }

// TakenOut reports whether c2c was uninstalled while the session's client ran. It opens one file.
func TakenOut(reg *Registry, s *Session) bool {
	return reg.Uninstalled != nil && reg.Uninstalled(s.Client, s.Process)
}

// Note describes the receiver of a message to its sender; "" if a ring may wake the receiver, or if its state is not known.
func Note(reg *Registry, s *Session, n *Now) string {
	more := s.Outlook(*n)
	switch {
	case s.State == Alive && TakenOut(reg, s):
		more = NothingComes
	case n.Does == Person:
		return s.PersonReads()
	case n.Does == Unknown, more == "" && (n.Does == Alive || n.Does == Idle):
		return ""
	}
	return strings.TrimSuffix(n.Says(s.Alias, reg.Now())+"; "+more, "; ")
}
