package broker

import (
	"cmp"
	"fmt"
	"time"

	"c2c/broker/client"
)

// Age is a span of time as people say it, in its largest unit: 40 s, 3 min, 2 h, 5 d.
func Age(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}} {
		if d >= unit.size {
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d s", max(0, d/time.Second))
}

// pairs is a small map. The linker lays it out, so that it costs no start.
type pairs [][2]string

func (p pairs) of(key string) string {
	for _, row := range p {
		if row[0] == key {
			return row[1]
		}
	}
	return ""
}

// Clock is a time as a person reads it here: of today with seconds, else with the day.
func Clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format("2006-01-02 15:04")
}

// Count is a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Became says what became of a message, and when: "read 13:24:01". Way tells how, in words.
func (s MessageStatus) Became(now time.Time) string {
	text := s.State
	if s.State != Queued {
		text += " " + Clock(s.At, now)
	}
	return text
}

// says are the words for what a session does, behind its name.
var says = pairs{
	{string(Busy), "is in a turn"}, {string(Idle), "is idle"}, {string(Waiting), "waits for its person"}, {string(Away), "is shown in no terminal"},
	{string(Absent), "is absent"}, {string(Person), "is a person"}, {string(External), "is outside"}, {string(Alive), "runs"}, {string(Unknown), "may run or not"},
}

// Says is what a session does, in words: "birch waits for its person (3 min)".
func (n Now) Says(alias string, now time.Time) string {
	text := alias + " " + says.of(string(n.Does))
	if !n.Since.IsZero() {
		text += " (" + Age(now.Sub(n.Since)) + ")"
	}
	return text
}

// outlook says what becomes of a message that a session has not read yet, "" when nothing keeps it from being brought at
// once. It says no more than what the session does tells.
func (s Session) outlook(n Now) string {
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
	}
	return ""
}

// personReads says how the message comes to a person, whom nothing wakes.
func (s Session) personReads() string { return s.Alias + " reads it with c2c poll-inbox" }

// note is what the sender of a message is told of its receiver; "" when that is idle, or nothing tells what it does.
func (s Session) note(n Now, now time.Time) string {
	if n.Does == Unknown || (n.Does == Alive || n.Does == Idle) && !s.Quiet {
		return ""
	}
	if n.Does == Person {
		return s.personReads()
	}
	text := n.Says(s.Alias, now)
	if more := s.outlook(n); more != "" {
		text += "; " + more
	}
	return text
}
