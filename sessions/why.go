package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"c2c/client"
	"c2c/internal/format"
	"c2c/wake"
)

// This file decides, for all that tell a person or a model about it, why a session has not read a
// message and what one can do: from what the session does, its last ring, and who rings it.

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

// Values of surface support (SPEC-091 4.5): whether mail wakes a live session. They never depend on
// the name of a client.
const (
	SurfaceFull     = "full"     // mail rings it
	SurfaceDegraded = "degraded" // mail waits for its next turn
)

const (
	// unrung is said of a session if no process has recorded that it rings the session. A process
	// may ring it all the same, see HasBell.
	unrung = "c2c knows of nothing that rings it: its next turn brings the message"
	// RingerEnded is said if the process that rang the session was killed, and no other rings it.
	RingerEnded = "the process of c2c that rang it has ended, and c2c knows of no other"
	// RingAnswer is how long a session has to read after a ring.
	RingAnswer = time.Minute
)

// Surface returns whether mail wakes a session now, and why. Both are "" for a session without a
// running client.
func (look Prober) Surface(s Session) (support, why string) {
	last := s.LastRing
	by := wake.AboutMethod(last.Method)
	switch {
	case s.State == Person || s.State == External || s.State == Remote || s.State == Absent || s.Client == "": // no client to wake
		return "", ""
	case look.held(RingLock(s.ID)) && s.OverHTTP():
		return SurfaceFull, "its client has a stream of events open, and answers there"
	case look.held(RingLock(s.ID)):
		return SurfaceFull, "a process of c2c that rings it runs beside its client"
	}
	lost := look.lostBell(&s)
	// The ringers in the next three cases hold the ring lock only while they ring. So the last ring
	// shows whether they reach the session.
	switch {
	case (last.Outcome == wake.Rang || !by.Typed) && s.HasBell() && s.Process != 0 && !lost:
		return SurfaceFull, "c2c start rings it"
	case last.Outcome == wake.Rang && by.Typed && s.Pane != "" && !lost && look.held(WakeLock):
		return SurfaceFull, "the wake daemon types into its pane"
	case last.Outcome == wake.Rang && by.FromDaemon && look.held(WakeLock):
		return SurfaceFull, "the wake daemon rings it"
	case lost:
		return SurfaceDegraded, RingerEnded
	case s.OverHTTP():
		return SurfaceDegraded, "its client has no stream of events open, or does not answer there: mail waits until the client calls a tool"
	}
	return SurfaceDegraded, "c2c knows of nothing that wakes it; mail comes with its next turn"
}

// HasBell reports whether the process that rings the session's process (see Session.HasBell) runs
// now.
func (look Prober) HasBell(s Session) bool {
	return s.HasBell() && s.Process != 0 && !look.lostBell(&s)
}

// lostBell reports whether the process that rang the session's process was killed: c2c start, or
// the client's MCP server. If it was c2c start, the client's terminal has ended with it, so a pane
// that its person has attached does not show the client any more.
func (look *Prober) lostBell(s *Session) bool {
	if !s.HasBell() || s.Process == 0 { // Process 0: c2c cannot see the process, so it cannot see the ringer, either
		return false
	}
	p, err := look.reg.Processes.Find(s.Facts.RingerPID)
	return errors.Is(err, ErrNoProcess) || err == nil && p.Start != s.Facts.RingerStart
}

// LostRinger reports whether the process that rang the session has ended, and no other one rings
// it.
func (look Prober) LostRinger(s Session) bool {
	if !s.HasBell() {
		return false // make no system calls
	}
	_, why := look.Surface(s)
	return why == RingerEnded
}

// IsRung reports whether c2c knows a process that rings the session.
func (look Prober) IsRung(s Session) bool {
	return look.held(RingLock(s.ID)) || look.HasBell(s) || s.Pane != "" && look.held(WakeLock)
}

// NotBegun reports whether c2c start made the session or a window is about to open it (Opening),
// and nothing of c2c runs in its client.
func (look Prober) NotBegun(s Session) bool {
	return (s.Started || s.Opening) && s.State == Alive && !look.held(ServerLock(s.ID)) && !look.held(RingLock(s.ID))
}

// TakenOut reports whether c2c was uninstalled while the session's client ran. It opens one file.
func (look Prober) TakenOut(s Session) bool {
	return s.State == Alive && look.reg.Uninstalled != nil && look.reg.Uninstalled(s.Client, s.Process)
}

// Lacks returns what a session lacks because c2c start could not set c2c up in its client, and what
// a person can do; "" if it lacks nothing, or if a server of c2c runs there all the same.
func (look Prober) Lacks(s Session) (what, do string) {
	if s.Facts.Lacks == "" || s.State != Alive || look.held(ServerLock(s.ID)) {
		return "", ""
	}
	return s.Facts.Lacks, RemedyOfLacks(s.Client)
}

// RemedyOfLacks says what a person can do if c2c start could not set c2c up in a client.
func RemedyOfLacks(client string) string {
	return "for all of c2c run c2c install " + client + ", then start it again"
}

// UnreadMail is a message that its session has not read.
type UnreadMail struct {
	Ring       wake.Ring // the last ring since the message came
	Deferrable bool      // the message wakes nobody
	Sent       bool      // it was sent just now: look at nothing that costs a system call
}

// Why says why a session that does n has not read a message, and what a person can do. Without a
// reason to tell, why is only what the session does. It promises no more than the state shows.
func (look Prober) Why(s Session, n Now, m UnreadMail) (why, do string) {
	if n.Does == Person {
		return s.Alias + " reads it with c2c poll-inbox", ""
	}
	why, do = look.why(s, n, m)
	return strings.TrimSuffix(n.Says(s.Alias, look.reg.Now())+"; "+why, "; "), do
}

func (look Prober) why(s Session, n Now, m UnreadMail) (why, do string) {
	p, _ := client.Find(s.Client)
	const waits = "the message waits until it is back"
	lacks, remedy := look.Lacks(s)
	switch {
	case n.Does == Absent:
		return waits, look.Remedy(s, wake.Ring{Outcome: wake.Failed})
	case look.TakenOut(s):
		return "c2c was uninstalled while its client ran, so nothing brings it mail", "run c2c install again"
	case n.Does == Busy && lacks == "":
		return cmp.Or(p.InTurn, "its next call of a tool of c2c tells of the message"), ""
	case n.Does == External && s.Client == ClientSigned:
		return "it signs what it sends and has no token to read with, so nobody there gets the message", ""
	case n.Does == External && s.Client == ClientDenied:
		return "its key was taken away, so nobody there gets the message until c2c senders allow makes another", ""
	case n.Does == External:
		return "its program gets the message from GET /events", ""
	case !m.Sent && look.LostRinger(s):
		return look.Unrung(s)
	case n.Does == Waiting:
		return "its model reads nothing until then", "answer the dialog in its terminal"
	case n.Does == Away:
		return waits, look.Remedy(s, m.Ring)
	case m.Ring.Outcome == wake.Refused || m.Ring.Outcome == wake.Held || m.Ring.Outcome == wake.Uncaptured || m.Ring.Outcome == wake.Failed:
		return "", look.Remedy(s, m.Ring)
	case s.Quiet:
		return "it does not want to be disturbed, so the message waits for its next turn", "c2c dnd off --session-id " + s.Alias + " lets mail wake it"
	case m.Deferrable:
		return "the message is deferrable and wakes nobody: the next turn brings it", ""
	case lacks != "":
		return lacks, remedy
	case m.Sent && p.Typed && s.Pane == "" && !s.HasBell() && (n.Does == Idle || n.Does == Alive):
		return unrung, ""
	case m.Sent: // it is about to be rung, as far as can be seen
		return "", ""
	case m.Ring.Outcome == wake.Rang && look.reg.Now().Sub(m.Ring.At) <= RingAnswer:
		return "it has been rung just now", ""
	case m.Ring.Outcome == wake.Rang:
		return "nobody has read since the ring", cmp.Or(wake.AboutMethod(m.Ring.Method).Ignored, "do its hooks run? c2c doctor tells")
	case n.Does == Unknown:
		return "its next call of c2c brings the message", ""
	case look.IsRung(s) && !look.NotBegun(s):
		return "it is about to be rung", ""
	case s.OverHTTP():
		return "nothing rings it: its next call of a tool brings the message", "its client has no stream of events open, or does not answer there: c2c doctor tells more"
	}
	return look.Unrung(s)
}

// Unrung says why nothing rings a session, and what a person can do so that mail wakes it.
func (look Prober) Unrung(s Session) (why, do string) {
	p, known := client.Find(s.Client)
	anew := func() string { return "open it anew with " + p.Reopens(s.Alias, s.ClientID(), look.reg.Getenv) }
	switch {
	case look.LostRinger(s):
		if do = anew(); p.Open == nil && !p.Shared(s.Process, look.reg.Getenv) { // never end a process that may have other sessions, too
			do = "end it (process " + strconv.Itoa(s.Process) + ") and " + do
		}
		return RingerEnded, "its next prompt brings the mail; if no terminal shows it any more, " + do // only c2c start takes the terminal with it
	case look.NotBegun(s):
		return "nothing of c2c has run in its client yet", wake.DialogWaits + "; or c2c is not set up in this client: c2c doctor tells"
	case s.Pane != "":
		do = "c2c wake start rings it in its pane"
	case s.Client == "":
		do = "it was registered in a shell, and no client has it: c2c poll-inbox --session-id " + s.Alias + " takes the mail"
	case !known:
		do = fmt.Sprintf("c2c knows no way to wake a client %q: its next poll_inbox brings the mail", s.Client)
	case p.Typed:
		do = "mail wakes it only if you end it and " + anew() + ", or run c2c wake attach in its tmux pane"
	case look.held(ServerLock(s.ID)):
		do = "c2c's server in it cannot ring: its next tool call or prompt brings the mail; c2c doctor tells more"
	default:
		do = "no server of c2c runs in it: c2c doctor tells why; its next tool call or prompt brings the mail"
	}
	return unrung, do
}

// Remedy says what a person can do for a session whose mail waits after the ring r.
func (look Prober) Remedy(s Session, r wake.Ring) string {
	p, _ := client.Find(s.Client)
	by := wake.AboutMethod(r.Method)
	switch {
	case by.Failed != "":
		return strings.NewReplacer("{client}", s.Client, "{alias}", s.Alias).Replace(by.Failed)
	case r.Outcome == wake.Rang:
		return "answer the dialog that is open there; its next prompt brings the mail"
	case by.Typed:
		return "empty its prompt or answer its dialog: it is rung again"
	case r.Outcome == wake.Held:
		return "its person can accept or deny the ring there"
	case r.Outcome == wake.Refused:
		return "its next prompt or tool call brings the mail"
	case by.Busy != "" && r.Outcome == wake.Uncaptured:
		return by.Busy
	case r.Outcome == wake.Uncaptured:
		return "answer what it asks there: it is rung again"
	case p.Resume == "":
		return "its next prompt brings the mail"
	}
	anew := "open it anew with " + p.Reopens(s.Alias, s.ClientID(), look.reg.Getenv)
	switch {
	case r.Outcome == wake.Away:
		return anew + ", or let mail start turns there that nobody sees: c2c register --unattended"
	case p.Typed || p.Plugin:
		return anew + "; then mail wakes it"
	}
	return anew + "; its next prompt brings the mail"
}

// Note tells the sender of a message, in its receipt, why the receiver may not read it at once; ""
// if a ring may wake the receiver, or if its state is not known.
func (look Prober) Note(s Session, n Now, deferrable bool) string {
	m := UnreadMail{Sent: true, Deferrable: deferrable}
	if why, _ := look.why(s, n, m); why == "" && (n.Does == Alive || n.Does == Idle || n.Does == Unknown) {
		return ""
	}
	text, _ := look.Why(s, n, m)
	return text
}
