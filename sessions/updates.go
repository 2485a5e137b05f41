package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"c2c/inbox/filelock"
	"c2c/inbox/mail"
	"c2c/wake"
)

// Rang records an attempt to ring a session, for Status and for people who ask why nothing happened. Who reads of it
// in the log finds it in Status, too.
func (reg *Registry) Rang(ctx context.Context, sid string, ring wake.Ring) (err error) {
	// Of what is no attempt nothing is kept: the last one is what people ask about.
	if ring.Outcome != wake.Coalesced && ring.Outcome != wake.Filtered {
		err = reg.ChangeFacts(ctx, sid, func(f *Facts) {
			last := f.LastRing
			if last.Method == ByHook && last.Outcome == wake.Rang && last.SameMail(ring) && ring.Outcome != wake.Rang {
				return // a ringer tried in vain what a hook of the running turn has told meanwhile
			}
			f.LastRing = ring
		})
	}
	if ring.Outcome == wake.Refused { // which the senders are told
		reg.LookBy(reg.Now())
	}
	reg.Record(ctx, "ring", Note{"session_id", sid}, Note{"method", ring.Method}, Note{"outcome", ring.Outcome},
		Note{"message_id", ring.Oldest}, Note{"cause", ring.Cause})
	return err
}

// SetTurn records that a session is Busy, Idle or Waiting, and who tells: ByHook, or the method of a ringer.
func (reg *Registry) SetTurn(ctx context.Context, s Session, does State, by string) error {
	if s.Turn == does {
		return nil // hooks say so at each tool call
	}
	return reg.ChangeFacts(ctx, s.ID, func(f *Facts) {
		f.Turn, f.TurnAt, f.TurnBy = turns.Of(string(does)), reg.Now().UTC(), by
	})
}

// SetConversation records in which conversation of its process a session's person has written last.
func (reg *Registry) SetConversation(ctx context.Context, s Session, id string) error {
	if !mail.ValidName(id) {
		return fmt.Errorf("conversation id %q is not a valid name", id)
	}
	return reg.ChangeFacts(ctx, s.ID, func(f *Facts) { f.Conversation = id })
}

// maxUnseen bounds what a person is told later.
const maxUnseen = 50

// ChangeUnseen records which messages a session's person was told of, and of which others the person is still to be told.
// Hooks of one session run at once.
func (reg *Registry) ChangeUnseen(ctx context.Context, s Session, told, unseen []string) error {
	if len(told)+len(unseen) == 0 {
		return nil
	}
	return reg.ChangeFacts(ctx, s.ID, func(f *Facts) {
		left := slices.DeleteFunc(f.Unseen, func(id string) bool { return slices.Contains(told, id) })
		left = append(left, unseen...)
		f.Unseen = left[max(0, len(left)-maxUnseen):]
	})
}

// SetMod records that a mod or plugin of ours runs in a session's process.
func (reg *Registry) SetMod(ctx context.Context, s Session) error {
	if s.Facts.ModStart == s.Facts.StartTime {
		return nil // it says so at each look
	}
	return reg.ChangeFacts(ctx, s.ID, func(f *Facts) { f.ModStart = f.StartTime })
}

// maxDescription bounds what a session says of itself, in bytes.
const maxDescription = 200

// CheckRole says what is wrong with what a session would say of itself.
func CheckRole(role string) error {
	if len(role) > maxDescription || !utf8.ValidString(role) || strings.ContainsFunc(role, unicode.IsControl) {
		return fmt.Errorf("role %q: want plain text of at most %d bytes on one line", role, maxDescription)
	}
	return nil
}

// Describe records what a session says of itself; "" changes nothing.
func (reg *Registry) Describe(ctx context.Context, sid, role string) error {
	if err := CheckRole(role); role == "" || err != nil {
		return err
	}
	return reg.changeRow(ctx, sid, func(r *Row) { r.SetText("role", role) })
}

// SetPane lets c2c type into a pane to wake a session. "" ends that: when SetPane returns, nobody types there any
// more. Ringers hear of it at once.
func (reg *Registry) SetPane(ctx context.Context, sid, pane string) error {
	if err := reg.changePermission(ctx, sid, func(f *Facts) { f.Pane = pane }); err != nil || pane != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	err := reg.Locked(ctx, RingLock(sid), func() error { return nil })
	if errors.Is(err, filelock.ErrTimeout) {
		return nil // the session's own server has the right to ring, and does not type
	}
	return err
}

// ringTime is what a ring by typing may take.
const ringTime = 8 * time.Second

// SetUnattended allows, or forbids, to wake a session that no terminal shows.
func (reg *Registry) SetUnattended(ctx context.Context, sid string, on bool) error {
	return reg.changePermission(ctx, sid, func(f *Facts) { f.Unattended = on })
}

// changePermission changes what a person allows. It holds the registry's lock, whose release tells the ringers.
func (reg *Registry) changePermission(ctx context.Context, sid string, edit func(*Facts)) error {
	return reg.Locked(ctx, RegistryLock, func() error { return reg.ChangeFacts(ctx, sid, edit) })
}

// SetQuiet turns a session's do-not-disturb on or off.
func (reg *Registry) SetQuiet(ctx context.Context, sid string, quiet bool) error {
	return reg.changeRow(ctx, sid, func(r *Row) {
		for _, name := range []string{"dnd", "dnd_since", "dnd_until"} {
			r.Set(name, nil)
		}
		if quiet {
			r.Set("dnd", json.RawMessage("true"))
			r.SetTime("dnd_since", mail.Seconds(reg.Now()))
		}
	})
}

// quiet reads the original's do-not-disturb, which may have an end.
func (reg *Registry) quiet(r Row) bool {
	until := r.number("dnd_until")
	return string(r.get("dnd")) == "true" && (until == 0 || mail.Seconds(reg.Now()) < until)
}
