package mail

import "time"

// LongestHold bounds how long c2c holds a message back, whatever a file says.
const LongestHold = 15 * time.Minute

// OpensAt returns the time, in Unix seconds, from which on a held-back message may be handed over.
// It returns 0 if the message was never held back.
func (m Message) OpensAt() float64 {
	if m.NotBefore <= 0 {
		return 0
	}
	return min(m.NotBefore, m.TS+LongestHold.Seconds())
}

// KeptBack reports whether the message must not be handed over yet. It returns false if the message
// was sent after the time now: then the times of the message come from a wrong clock.
func (m Message) KeptBack(now float64) bool { return m.TS <= now && now < m.OpensAt() }

// Expired reports whether the message must not be handed over any more.
func (m Message) Expired(now float64) bool { return m.ExpiresAt != 0 && now >= m.ExpiresAt }
