package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/wake"
)

// Rang records an attempt to ring a session, for Status and for people who ask why nothing
// happened. It writes the facts before the log, so that Status never shows less than the log.
func (reg *Registry) Rang(ctx context.Context, sid string, ring wake.Ring) (err error) {
	// Coalesced and Filtered are not attempts, and are not kept: people ask about the last attempt.
	if ring.Outcome != wake.Coalesced && ring.Outcome != wake.Filtered {
		err = reg.Facts.Change(ctx, sid, func(f *Facts) {
			last := f.LastRing
			if last.Method == inbox.ByHook && last.Outcome == wake.Rang && last.SameMail(ring) && ring.Outcome != wake.Rang {
				return // keep what the hook has recorded: it has announced this mail already, so a failed ring for the same mail does not matter
			}
			f.LastRing = ring
		})
	}
	if ring.Outcome == wake.Refused { // some process must look now, and send a notice to the senders of the mail
		reg.Due.LookBy(reg.Now())
	}
	reg.Events.Record(ctx, ringEvent, "session_id", sid, "method", ring.Method, "outcome", ring.Outcome,
		"message_id", ring.Oldest, "cause", ring.Cause)
	return err
}

// SetTurn records that a session is Busy, Idle, Waiting or Away, and the source of this report:
// inbox.ByHook, the method of a ringer that follows the session, or ByRing. The last report counts,
// but a ring only for a session whose hooks report what it does, because nobody else reports the
// end of the turn that the ring begins.
func (reg *Registry) SetTurn(ctx context.Context, s Session, does State, by string) error {
	if s.Turn == does || by == ByRing && !s.ToldByHooks() {
		return nil // hooks report the same at each tool call
	}
	return reg.Facts.Change(ctx, s.ID, func(f *Facts) {
		f.Turn, f.TurnAt, f.TurnBy = does, reg.Now().UTC(), by
	})
}

// SetMod records that a mod or plugin of ours runs in a session's process. A later process of the
// session does not count: the record has the time when this one started.
func (reg *Registry) SetMod(ctx context.Context, s Session) error {
	if s.Facts.ModStart == s.Facts.StartTime {
		return nil // the mod reports this each time it looks for mail
	}
	return reg.Facts.Change(ctx, s.ID, func(f *Facts) { f.ModStart = f.StartTime })
}

// maxDescription bounds a session's description of itself, in bytes.
const maxDescription = 200

// CheckRole returns an error if a description of a session is not valid.
func CheckRole(role string) error {
	if len(role) > maxDescription || !utf8.ValidString(role) || strings.ContainsFunc(role, unicode.IsControl) {
		return fmt.Errorf("role %q: want plain text of at most %d bytes on one line", role, maxDescription)
	}
	return nil
}

// Describe records a session's description of itself; "" changes nothing.
func (reg *Registry) Describe(ctx context.Context, sid, role string) error {
	if err := CheckRole(role); role == "" || err != nil {
		return err
	}
	return reg.Facts.Change(ctx, sid, func(f *Facts) { f.Role = role })
}

// SetPane lets c2c type into a pane to wake a session. With an empty pane it ends this permission:
// when SetPane has returned, c2c does not type for the session any more. Ringers notice the change
// at once.
func (reg *Registry) SetPane(ctx context.Context, sid, pane string) error {
	if err := reg.changeSetting(ctx, sid, func(f *Facts) { f.Pane = pane }); err != nil || pane != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	err := reg.Locks.With(ctx, RingLock(sid), func() error { return nil })
	if errors.Is(err, atomicfile.ErrLockTimeout) {
		return nil // no ring by typing holds the lock so long. So the session's own server holds it, which does not type
	}
	return err
}

// ringTime is how long a ring by typing may take.
const ringTime = 8 * time.Second

// SetUnattended lets c2c wake a session that no terminal shows, or forbids it.
func (reg *Registry) SetUnattended(ctx context.Context, sid string, on bool) error {
	return reg.changeSetting(ctx, sid, func(f *Facts) { f.Unattended = on })
}

// changeSetting edits the facts that say whether and how c2c wakes a session. It takes and releases
// the registry's lock, because the release makes ringers check the session again.
func (reg *Registry) changeSetting(ctx context.Context, sid string, edit func(*Facts)) error {
	return reg.Locks.With(ctx, RegistryLock, func() error { return reg.Facts.Change(ctx, sid, edit) })
}

// SetQuiet turns a session's do-not-disturb on or off.
func (reg *Registry) SetQuiet(ctx context.Context, sid string, quiet bool) error {
	err := reg.changeSetting(ctx, sid, func(f *Facts) { f.Quiet = quiet })
	if err != nil || quiet {
		return err
	}
	box, err := reg.Mailbox(sid)
	if err == nil {
		err = box.NotifyWatchers(ctx) // until now the watchers have ignored the waiting mail
	}
	return err
}
