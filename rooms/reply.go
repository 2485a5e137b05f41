package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// ReplyToPost posts the answer to a message that came from a room, and wakes the message's author.
func ReplyToPost(ctx context.Context, b *broker.Broker, from sessions.Session, answered mail.Message, d Draft) (Receipt, error) {
	d.Room, d.Message.InReplyTo = mail.RoomOf(answered.To), answered.ID
	return Publish(ctx, b, from, d)
}

// Received finds the post that a session wants to answer, in its rooms. The argument typed is the
// post's id, or the short form of it.
func Received(reg *sessions.Registry, s sessions.Session, typed string) (mail.Message, error) {
	st := StoreOf(reg)
	names, err := st.Of(s.ID)
	for _, name := range names {
		r, oerr := st.Open(name)
		if errors.Is(oerr, ErrNoRoom) {
			continue
		}
		if oerr != nil {
			err = errors.Join(err, oerr)
			continue
		}
		post, ferr := r.Find(typed)
		r.Close()
		if ferr == nil {
			m := post.Message()
			m.To = s.Alias + "#" + r.Name
			return m, nil
		}
	}
	return mail.Message{}, cmp.Or(err, fmt.Errorf("message %q: %w", typed, broker.ErrNoMessage))
}
