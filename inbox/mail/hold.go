package mail

import "time"

// LongestHold is the longest time that c2c keeps a message back. Whatever a file says, no message stays hidden for longer.
const LongestHold = 15 * time.Minute

// OpensAt is when a message is handed over that is kept back, in Unix seconds; 0: it never was. One that an older version
// held has no time.
func (m Message) OpensAt() float64 {
	longest := m.TS + LongestHold.Seconds()
	switch {
	case m.NotBefore > 0:
		return min(m.NotBefore, longest)
	case m.Held != "":
		return longest
	}
	return 0
}

// KeptBack says whether a message is not handed over yet at a time. One that was sent later than now has its times from a
// clock that was wrong.
func (m Message) KeptBack(now float64) bool { return m.TS <= now && now < m.OpensAt() }

// Expired says whether the message is not handed over any more at a time.
func (m Message) Expired(now float64) bool { return m.ExpiresAt != 0 && now >= m.ExpiresAt }
