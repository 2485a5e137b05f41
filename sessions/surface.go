package sessions

import (
	"c2c/sessions/locks"
	"c2c/wake"
)

// What can be done for a live session: SPEC-091 4.5. It is never decided by the name of a client.
const (
	SurfaceFull     = "full"     // mail rings it
	SurfaceDegraded = "degraded" // mail waits for its next turn
)

// Surface says whether mail wakes a session now, as its client can be reached, and why; "" for one that has no client that runs.
func (look Prober) Surface(s Session) (support, why string) {
	last := s.LastRing
	switch {
	case s.State == Person || s.State == External || s.State == Remote || s.State == Absent || s.Client == "": // a mailbox that somebody reads in a shell, or at the stream of events
		return "", ""
	case look.held(locks.RingLock(s.ID)) && s.Facts.Transport == TransportHTTP:
		return SurfaceFull, "its client has a stream of events open, and answers there"
	case look.held(locks.RingLock(s.ID)):
		return SurfaceFull, "a process of c2c that rings it runs beside its client"
	// Who borrows the right to ring has it for one ring at a time: how the last one went is all that can be known.
	case last.Outcome == wake.Rang && last.Method == wake.ByTerminal:
		return SurfaceFull, "its terminal was rung last"
	case last.Outcome == wake.Rang && (last.Method == wake.ByQueue || last.Method == wake.ByServer) && look.held(locks.WakeLock):
		return SurfaceFull, "the wake daemon rings it"
	case s.Facts.Transport == TransportHTTP:
		return SurfaceDegraded, "its client has no stream of events open, or does not answer there: mail waits for its next call of a tool"
	}
	return SurfaceDegraded, "it is not woken; mail comes with its next turn"
}
