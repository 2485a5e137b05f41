package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/wake"
)

// Check warns if a session has not answered a ring within answerTime, or if no ringer has rung within answerTime after new mail.
const answerTime = time.Minute

// Check reports sessions that were not woken, with the cause; damaged files; and sessions whose process c2c cannot see. The argument wakes is
// a function that reports whether c2c can wake the sessions of a client.
func CheckRoot(ctx context.Context, reg *sessions.Registry, wakes func(client string) bool) []format.Finding {
	all, err := reg.Sessions(ctx)
	if err != nil {
		return []format.Finding{format.Failed("sessions", reg.Root(), err)}
	}
	found, damaged := []format.Finding{}, checkDamage(ctx, reg, all)
	absent := 0 // number of absent sessions with mail
	for _, s := range all {
		if !mail.ValidName(s.ID) {
			continue // another program has written the row; we open no such mailbox
		}
		waits, err := mailThatRings(ctx, reg, s)
		if errors.Is(err, atomicfile.ErrNotOurs) {
			continue // checkMailboxes has reported it
		}
		if err != nil {
			found = append(found, format.Failed("session "+s.Alias, "", err))
			continue
		}
		if len(waits) > 0 && s.State == sessions.Absent {
			absent++
		}
		if f, ok := checkSession(reg, s, waits, wakes(s.Client)); ok {
			found = append(found, f)
		}
	}
	if !slices.ContainsFunc(found, func(f format.Finding) bool { return f.Status != format.OK }) {
		detail := fmt.Sprintf("no running session waits to be woken for mail; sessions: %d", len(all))
		if absent > 0 {
			detail += fmt.Sprintf("; gone, with mail for their return: %d", absent)
		}
		found = append(found, format.Finding{Status: format.OK, Part: "rings", Detail: detail})
	}
	found = append(found, checkMods(all)...)
	// Warnings come first.
	sort.SliceStable(found, func(i, j int) bool { return found[i].Status > found[j].Status })
	return append(damaged, found...)
}

// checkMods lists the running sessions in which a mod of ours was seen, and those in which none was. A missing mod is not a problem: the
// person or an administrator may have switched it off, or the client is too old.
func checkMods(all []sessions.Session) (found []format.Finding) {
	for _, p := range client.All() {
		var with, without []string
		for _, s := range all {
			switch {
			case !p.Mod || s.Client != p.Name || s.Process == 0:
			case s.HasMod():
				with = append(with, s.Alias)
			default:
				without = append(without, s.Alias)
			}
		}
		detail := ""
		if len(with) > 0 {
			detail = "; loaded in " + Few(with)
		}
		if len(without) > 0 {
			detail += "; not loaded in " + Few(without) + ", where mail arrives all the same"
		}
		if detail != "" {
			found = append(found, format.Finding{Client: p.Name, Status: format.OK, Part: "mod", Detail: detail[len("; "):]})
		}
	}
	return found
}

// Few joins the first five names of a list, and adds the number of the others.
func Few(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// checkDamage lists the damaged files that c2c has set aside and nobody has removed, and the mailboxes that cannot be read.
func checkDamage(ctx context.Context, reg *sessions.Registry, all []sessions.Session) (found []format.Finding) {
	for _, pattern := range []string{"*.corrupt-*", "sessions/*.corrupt-*", "rooms/*/*.corrupt-*"} {
		names, _ := fs.Glob(os.DirFS(reg.Root()), pattern) // filepath.Glob would read a [ in the root's path as a pattern
		for _, name := range names {
			found = append(found, format.Finding{Status: format.Warning, Part: "damaged file", Path: filepath.Join(reg.Root(), name),
				Detail: "c2c has set it aside, and goes on with what could be read of it; look at the rest, then move it away"})
		}
	}
	return append(found, checkMailboxes(ctx, reg, all)...)
}

// checkMailboxes reports mail that cannot be read.
func checkMailboxes(ctx context.Context, reg *sessions.Registry, all []sessions.Session) (found []format.Finding) {
	sids, err := inbox.Sessions(reg.Dir())
	for _, sid := range slices.Sorted(maps.Keys(sids)) {
		box, berr := reg.Mailbox(sid)
		if berr != nil {
			continue
		}
		damaged, derr := box.Damaged(ctx)
		if damaged {
			found = append(found, format.Finding{Status: format.Problem, Part: "mailbox of " + sid, Path: filepath.Join(reg.Root(), sid+".inbox.json"),
				Detail: "a part of it cannot be read. When its session next reads its mail, it gets the rest, and c2c keeps a copy of the file. To make the session read its mail: " + howToRead(reg, sid, all)})
		}
		if derr != nil {
			f := format.Failed("mailbox of "+sid, filepath.Join(reg.Root(), sid+".inbox.json"), derr)
			if errors.Is(derr, atomicfile.ErrNotOurs) {
				f.Detail += "; nothing can be sent or read there until it is moved away"
			}
			found = append(found, f)
		}
	}
	if err != nil {
		found = append(found, format.Failed("mailboxes", reg.Root(), err))
	}
	return found
}

// howToRead returns what a person can do so that a session reads its mail. Only an agent itself may take the mail of an agent.
func howToRead(reg *sessions.Registry, sid string, all []sessions.Session) string {
	for _, s := range all {
		switch {
		case s.ID != sid:
		case s.State == sessions.External:
			return "send to it with c2c send: the error says what is wrong"
		case s.Client == "" || s.State == sessions.Person:
			return "c2c poll-inbox --session-id " + sid
		case s.State == sessions.Absent:
			return remedy(reg, s, wake.Ring{Outcome: wake.Failed})
		default:
			return fmt.Sprintf("c2c send %s 'Read your mail.'", s.Alias)
		}
	}
	return "c2c sweep, since no session has it any more"
}

// checkSession checks the last ring and the mail of one session. ok is false if there is nothing to report.
func checkSession(reg *sessions.Registry, s sessions.Session, waits []mail.Message, wakes bool) (f format.Finding, ok bool) {
	r, now := s.LastRing, reg.Now()
	f = format.Finding{Session: s.Alias, Status: format.OK, Part: "session " + s.Alias}
	if r.Outcome != "" {
		f.Ring = &r
	}
	unread, ringFailed, present := slices.ContainsFunc(waits, r.IsFor), r.Outcome != "" && r.Outcome != wake.Rang, s.State != sessions.Absent
	switch {
	case !sessions.TakenOut(reg, &s) && hasLostRinger(reg, &s):
		f.Status, f.Detail = format.Warning, unrungWords(reg, &s)
		return f, true
	case ringFailed:
		f.Detail = r.String()
	case unread && present && now.Sub(r.At) > answerTime:
		f.Detail = r.String() + ", and nobody has read since"
	case !unread && len(waits) > 0 && present && s.State != sessions.Person && s.State != sessions.External && (now.Sub(waits[0].Time()) > answerTime || notBegun(reg, &s)):
		f.Detail, f.Ring, r = "mail waits since "+waits[0].Time().UTC().Format(time.RFC3339)+" and nobody has rung", nil, wake.Ring{}
	case s.HasMailToMove():
		f.Status, f.Detail = format.Warning, "mail is still to be moved to it: its next call does that, or says what stops it"
		return f, true
	case s.State == sessions.Unknown && s.PID > 0:
		f.Detail = fmt.Sprintf("c2c cannot see its process %d, which may be in another container: the session keeps its alias and its mail", s.PID)
		return f, true
	default:
		return f, false
	}
	switch {
	case ringFailed && !unread:
		f.Detail += "; that mail has been read since"
	case !present:
		f.Detail += "; it is not there: its mail waits for its return"
	case r.Outcome == "":
		f.Status, f.Detail = format.Warning, f.Detail+"; "+notRung(reg, s, wakes)
	default:
		f.Status, f.Detail = format.Warning, f.Detail+"; "+remedy(reg, s, r)+"; "+ringer(reg, s)
	}
	return f, true
}

// ringer says whether something rings a session.
func ringer(reg *sessions.Registry, s sessions.Session) string {
	if isRung(reg, &s) {
		return "a process of c2c looks after it"
	}
	return "no process of c2c looks after it"
}

func unrungWords(reg *sessions.Registry, s *sessions.Session) string {
	why, do := unrung(reg, s)
	return why + "; " + do
}

// notRung says why no process has rung a session whose mail waits, and what a person can do.
func notRung(reg *sessions.Registry, s sessions.Session, wakes bool) string {
	_, known := client.Find(s.Client)
	switch {
	case notBegun(reg, &s) || client.Typed(s.Client) && !isRung(reg, &s):
		return unrungWords(reg, &s)
	case s.Client == "":
		return "it was registered in a shell, and no client has it: c2c poll-inbox --session-id " + s.Alias + " takes the mail"
	case !wakes && s.Pane == "" && !known:
		return fmt.Sprintf("c2c knows no way to wake a client %q: its next poll_inbox brings the mail", s.Client)
	}
	server := "no server of c2c runs in it"
	if reg.Locks.HasServer(s.ID) {
		server = "c2c's server in it cannot ring"
	}
	return "its turn is long, or " + server + ": its next tool call or prompt brings the mail; " + ringer(reg, s)
}

// mailThatRings returns the waiting messages for which c2c rings the session.
func mailThatRings(ctx context.Context, reg *sessions.Registry, s sessions.Session) ([]mail.Message, error) {
	box, err := reg.Mailbox(s.ID)
	if err != nil || s.Quiet {
		return nil, err
	}
	msgs, err := box.Head(ctx, wake.MaxLook)
	return wake.MayWake(msgs), err
}

// remedy returns what a person can do for a session whose mail waits after the ring r.
func remedy(reg *sessions.Registry, s sessions.Session, r wake.Ring) string {
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
	anew := "open it anew with " + p.Reopens(s.Alias, s.ClientID(), reg.Getenv)
	switch {
	case r.Outcome == wake.Away:
		return anew + ", or let mail start turns there that nobody sees: c2c register --unattended"
	case p.Typed || p.Plugin:
		return anew + "; then mail wakes it"
	}
	return anew + "; its next prompt brings the mail"
}
