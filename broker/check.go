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

// CheckRoot reports sessions that were not woken, with the cause; damaged files; and sessions whose
// process c2c cannot see.
func CheckRoot(ctx context.Context, reg *sessions.Registry) []format.Finding {
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
		if f, ok := checkSession(reg, s, waits); ok {
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

// checkMods lists the running sessions in which a mod of ours was seen, and those in which none
// was. A missing mod is not a problem: the person or an administrator may have switched it off, or
// the client is too old.
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

// checkDamage lists the damaged files that c2c has set aside and nobody has removed, and the
// mailboxes that cannot be read.
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
			if inbox.IsBlocked(derr) {
				f.Detail += "; nothing can be read there until it is moved away"
			}
			found = append(found, f)
		}
	}
	if err != nil {
		found = append(found, format.Failed("mailboxes", reg.Root(), err))
	}
	return found
}

// howToRead returns what a person can do so that a session reads its mail. Only an agent itself may
// take the mail of an agent.
func howToRead(reg *sessions.Registry, sid string, all []sessions.Session) string {
	for _, s := range all {
		switch {
		case s.ID != sid:
		case s.State == sessions.External:
			return "send to it with c2c send: the error says what is wrong"
		case s.Client == "" || s.State == sessions.Person:
			return "c2c poll-inbox --session-id " + sid
		case s.State == sessions.Absent:
			return reg.Prober().Remedy(s, wake.Ring{Outcome: wake.Failed})
		default:
			return fmt.Sprintf("c2c send %s 'Read your mail.'", s.Alias)
		}
	}
	return "c2c sweep, since no session has it any more"
}

// checkSession checks the last ring and the mail of one session. ok is false if there is nothing to
// report.
func checkSession(reg *sessions.Registry, s sessions.Session, waits []mail.Message) (f format.Finding, ok bool) {
	r, now, look := s.LastRing, reg.Now(), reg.Prober()
	unrung := func() string {
		why, do := look.Unrung(s)
		return why + "; " + do
	}
	f = format.Finding{Session: s.Alias, Status: format.OK, Part: "session " + s.Alias}
	if r.Outcome != "" {
		f.Ring = &r
	}
	unread, ringFailed, present := slices.ContainsFunc(waits, r.IsFor), r.Outcome != "" && r.Outcome != wake.Rang, s.State != sessions.Absent
	switch {
	case !look.TakenOut(s) && look.LostRinger(s):
		f.Status, f.Detail = format.Warning, unrung()
		return f, true
	case ringFailed:
		f.Detail = r.String()
	case unread && present && now.Sub(r.At) > sessions.RingAnswer:
		f.Detail = r.String() + ", and nobody has read since"
	case !unread && len(waits) > 0 && present && s.State != sessions.Person && s.State != sessions.External && (now.Sub(waits[0].Time()) > sessions.RingAnswer || look.NotBegun(s)):
		f.Detail, f.Ring, r = "mail waits since "+waits[0].Time().UTC().Format(time.RFC3339)+" and nobody has rung", nil, wake.Ring{}
	case s.HasMailToMove():
		f.Status, f.Detail = format.Warning, "mail is still to be moved to it: its next call does that, or says what stops it"
		return f, true
	case s.State == sessions.Unknown && s.PID > 0:
		f.Detail = fmt.Sprintf("c2c cannot see its process %d, which may be in another container: the session keeps its alias and its mail", s.PID)
		return f, true
	default:
		lacks, do := look.Lacks(s)
		if lacks != "" {
			f.Status, f.Detail = format.Warning, lacks+"; "+do
		}
		return f, lacks != ""
	}
	switch {
	case ringFailed && !unread:
		f.Detail += "; that mail has been read since"
	case !present:
		f.Detail += "; it is not there: its mail waits for its return"
	case r.Outcome == "" && !look.IsRung(s):
		f.Status, f.Detail = format.Warning, f.Detail+"; "+unrung()
	case r.Outcome == "":
		f.Status, f.Detail = format.Warning, f.Detail+"; its turn is long, or it cannot be rung: its next tool call or prompt brings the mail; a process of c2c looks after it"
	default:
		by := "no process of c2c looks after it"
		if look.IsRung(s) {
			by = "a process of c2c looks after it"
		}
		f.Status, f.Detail = format.Warning, f.Detail+"; "+look.Remedy(s, r)+"; "+by
	}
	return f, true
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
