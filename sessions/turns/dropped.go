package turns

import (
	"context"
	"slices"

	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/facts"
)

// When a request fails, a client may drop messages that it had given to its model. Then only the archive has them, and a hook hands
// them over again, from the archive, with the next prompt.

// maxDropped bounds how many messages are checked and handed over again.
const maxDropped = 50

// SawDropped records which messages the session's client has dropped. It calls the function dropped with each message that a hook has
// handed over and the model has not answered. It returns all messages that must be handed over again, oldest first.
func SawDropped(ctx context.Context, reg *sessions.Registry, s sessions.Session, dropped func(mail.Message) bool) (again []mail.Message, err error) {
	if dropped == nil && len(s.Facts.Dropped) == 0 {
		return nil, nil
	}
	box, err := reg.Mailbox(s.ID)
	if err != nil {
		return nil, err
	}
	newest, err := box.Archive().History(ctx, maxDropped)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range slices.Backward(newest) {
		was := slices.Contains(s.Facts.Dropped, r.ID)
		if r.DrainedBy != sessions.ByHook || r.Ephemeral || !was && (dropped == nil || !dropped(r.Message) || !Unanswered(reg, s.ID, r.DrainedBy, mail.FromSeconds(r.DrainedAt))) {
			continue
		}
		again = append(again, r.Message)
		if !was {
			ids = append(ids, r.ID)
		}
	}
	return again, changeDropped(ctx, reg, s, nil, ids)
}

// HandedAgain records that messages were handed over again.
func HandedAgain(ctx context.Context, reg *sessions.Registry, s sessions.Session, ids []string) error {
	return changeDropped(ctx, reg, s, ids, nil)
}

func changeDropped(ctx context.Context, reg *sessions.Registry, s sessions.Session, again, dropped []string) error {
	if len(again)+len(dropped) == 0 {
		return nil
	}
	return reg.Facts.Change(ctx, s.ID, func(f *facts.Facts) {
		f.Dropped = slices.DeleteFunc(f.Dropped, func(id string) bool { return slices.Contains(again, id) })
		f.Dropped = append(f.Dropped, dropped...)
		f.Dropped = f.Dropped[max(0, len(f.Dropped)-maxDropped):]
	})
}
