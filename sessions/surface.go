package sessions

import (
	"errors"

	"c2c/wake"
)

// Values of surface support (SPEC-091 4.5): whether mail wakes a live session. They never depend on the name of a client.
const (
	SurfaceFull     = "full"     // mail rings it
	SurfaceDegraded = "degraded" // mail waits for its next turn
)

// Surface returns whether mail wakes a session now, and why. Both are "" for a session without a running client.
func (look Prober) Surface(s Session) (support, why string) {
	last := s.LastRing
	by := wake.AboutMethod(last.Method)
	switch {
	case s.State == Person || s.State == External || s.State == Remote || s.State == Absent || s.Client == "": // no client to wake
		return "", ""
	case look.held(RingLock(s.ID)) && s.Facts.Transport == TransportHTTP:
		return SurfaceFull, "its client has a stream of events open, and answers there"
	case look.held(RingLock(s.ID)):
		return SurfaceFull, "a process of c2c that rings it runs beside its client"
	// The ringers in the next three cases hold the ring lock only while they ring. So the last ring shows whether they reach the session.
	case (last.Outcome == wake.Rang || !by.Typed) && look.HasBell(s):
		return SurfaceFull, "c2c start rings it"
	case last.Outcome == wake.Rang && by.Typed && s.Pane != "" && look.held(WakeLock) && !look.lostBell(&s):
		return SurfaceFull, "the wake daemon types into its pane"
	case last.Outcome == wake.Rang && by.FromDaemon && look.held(WakeLock):
		return SurfaceFull, "the wake daemon rings it"
	case look.lostBell(&s):
		return SurfaceDegraded, RingerEnded
	case s.Facts.Transport == TransportHTTP:
		return SurfaceDegraded, "its client has no stream of events open, or does not answer there: mail waits until the client calls a tool"
	}
	return SurfaceDegraded, "c2c knows of nothing that wakes it; mail comes with its next turn"
}

// HasBell reports whether the process that rings the session's process (see Session.HasBell) runs now.
func (look Prober) HasBell(s Session) bool {
	return s.HasBell() && s.Process != 0 && !look.lostBell(&s)
}

// lostBell reports whether the process that rang the session's process was killed: c2c start, or the client's MCP server. If it was c2c
// start, the client's terminal has ended with it, so a pane that its person has attached does not show the client any more.
func (look *Prober) lostBell(s *Session) bool {
	if !s.HasBell() || s.Process == 0 { // Process 0: c2c cannot see the process, so it cannot see the ringer, either
		return false
	}
	p, err := look.reg.Processes.Find(s.Facts.RingerPID)
	return errors.Is(err, ErrNoProcess) || err == nil && p.Start != s.Facts.RingerStart
}
