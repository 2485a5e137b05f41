package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/install"
	"c2c/wake"
)

const (
	// unheard is how long a ring may take to be answered, or mail to be rung for.
	unheard = time.Minute
	// maxSessions bounds the report to what a person reads.
	maxSessions = 5
	// doctorLook is how much of a mailbox is read, in bytes.
	doctorLook = 64 << 10
)

// checkWake tells which sessions were not woken, and why.
func (a *app) checkWake(ctx context.Context, b *broker.Broker) []finding {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	all, err := b.Sessions(ctx)
	if err != nil {
		return []finding{problem("sessions", b.Root(), err)}
	}
	var found []finding
	for _, s := range all {
		if f, ok := checkRing(ctx, b, s, time.Now()); ok {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		found = []finding{ok("rings", "", fmt.Sprintf("nothing went wrong with the last ring of any of %d sessions", len(all)))}
	}
	// What still waits goes first.
	slices.SortStableFunc(found, func(x, y finding) int { return strings.Compare(string(y.Status), string(x.Status)) })
	return append([]finding{a.checkDaemon(b, all)}, found...)
}

func (a *app) checkDaemon(b *broker.Broker, all []broker.Session) finding {
	log := filepath.Join(b.Root(), daemonLog)
	pid, err := (&daemon{a: a, b: b}).running()
	switch {
	case err != nil:
		return problem("wake daemon", log, err)
	case pid != 0:
		return ok("wake daemon", log, fmt.Sprintf("runs, process %d", pid))
	}
	var alone []string
	for _, s := range all {
		if s.Pane != "" && s.State == broker.Alive {
			alone = append(alone, s.Alias)
		}
	}
	f := ok("wake daemon", "", "does not run; only sessions without a server of their own need it")
	if len(alone) > 0 {
		f.Status, f.Detail = install.Warning, "does not run, and was to type for "+strings.Join(alone, ", ")+": c2c wake start"
	}
	return f
}

// checkRing looks at the last ring of one session, and at mail that nobody has rung for. Not ok: all is well.
func checkRing(ctx context.Context, b *broker.Broker, s broker.Session, now time.Time) (f finding, ok bool) {
	r := s.LastRing
	if !inbox.ValidName(s.ID) {
		return f, false // the original allows any id; we open no such mailbox
	}
	f = finding{Session: s.Alias, Finding: install.Finding{Status: install.OK, Part: "session " + s.Alias}}
	if r.Outcome != "" {
		f.Ring = &r
	}
	waits, err := loudMail(ctx, b, s)
	if err != nil {
		f.Status, f.Detail = install.Problem, err.Error()
		return f, true
	}
	unread := slices.ContainsFunc(waits, func(m inbox.Message) bool { return m.ID == r.Oldest })
	lost, there := r.Outcome != "" && r.Outcome != wake.Rang, s.State != broker.Absent
	switch {
	case lost:
		f.Detail = said(r)
	case unread && there && now.Sub(r.At) > unheard:
		f.Detail = said(r) + ", and nobody has read since"
	case !unread && len(waits) > 0 && rungByUs(s) && now.Sub(waits[0].Time()) > unheard:
		f.Detail, f.Ring = "mail waits since "+waits[0].Time().UTC().Format(time.RFC3339)+" and nobody has rung", nil
	default:
		return f, false
	}
	switch {
	case lost && !unread:
		f.Detail += "; that mail has been read since"
	case !there:
		f.Detail += "; it is not there: its mail waits for its return"
	default:
		f.Status = install.Warning
		f.Detail += "; " + remedy(s, f.Ring)
	}
	return f, true
}

// rungByUs says whether somebody should ring the session; nobody does for a person at a shell.
func rungByUs(s broker.Session) bool { return s.State == broker.Alive && !s.Person }

// loudMail is what waits and may ring.
func loudMail(ctx context.Context, b *broker.Broker, s broker.Session) ([]inbox.Message, error) {
	box, err := b.Mailbox(s.ID)
	if err != nil || s.Quiet {
		return nil, err
	}
	msgs, err := box.Head(ctx, doctorLook)
	return wake.Loud(msgs), err
}

// said is a ring in words.
func said(r wake.Ring) string {
	text := r.Outcome
	if r.Method != "" {
		text += " by " + r.Method
	}
	text += " at " + r.At.UTC().Format(time.RFC3339)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	return text
}

// remedy says what the person can do for a session whose mail waits. r is nil when nobody has rung.
func remedy(s broker.Session, r *wake.Ring) string {
	switch {
	case r == nil && !slices.Contains(install.Clients(), s.Client):
		return fmt.Sprintf("c2c knows no way to wake a client %q: its next poll_inbox brings the mail", s.Client)
	case r == nil:
		return "its turn is long, or it has no c2c server: its next tool call or prompt brings the mail"
	case r.Method == wake.ByChannel:
		return "a channel needs a client started with c2c start --channel claude; its next prompt brings the mail"
	case r.Outcome == wake.Rang:
		return "answer the dialog that is open there; its next prompt brings the mail"
	case r.Method == wake.ByTerminal:
		return "empty its prompt or answer its dialog: it is rung again"
	case r.Method == wake.BySocket && r.Outcome == wake.Uncaptured:
		return "it is rung again; if this stays, see its hooks below"
	case r.Method == wake.BySocket:
		return "start it anew with claude --resume; its next prompt brings the mail"
	case s.Client == install.Codex && r.Outcome == wake.Uncaptured:
		return "answer what it asks there: it is rung again"
	case thread(s) != "":
		return "open it with codex resume " + thread(s)
	}
	return "its next prompt brings the mail"
}
