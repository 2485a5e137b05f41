package relay

import (
	"context"
	"errors"

	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/rooms"
)

// toRoom carries out messages about a room.
func (p *post) toRoom(ctx context.Context, peer, room string, msgs []mail.Message, mayRepeat bool) (relay.Reason, error) {
	host, err := p.h.list.ByName(peer)
	if err != nil && !errors.Is(err, relay.ErrUnknown) {
		return relay.Stored, err
	}
	o := rooms.CopyOptions{MayJoin: err == nil && host.MayReach(p.project, "#"+room), MayRepeat: mayRepeat, Limit: rooms.LimitOf(p.h.Getenv)}
	woken, err := rooms.ReceivePosts(ctx, p.b, peer, room, msgs, o)
	for _, w := range woken {
		p.arrived.add(peer, w.SID, []mail.Message{w.Message})
	}
	p.h.changes.Recheck() // watch the mailboxes of the woken sessions, and send the news of the room to other machines
	switch {
	case err == nil:
		return relay.Stored, nil
	case !rooms.IsFinal(err):
		return relay.Stored, err
	}
	p.h.Log.Info("a message about a room is refused", "host", peer, "room", room, "err", err)
	switch {
	case errors.Is(err, rooms.ErrForbidden):
		return relay.Forbidden, nil
	case errors.Is(err, rooms.ErrNoRoom):
		return relay.NoRoom, nil
	case errors.Is(err, rooms.ErrNotMember), errors.Is(err, rooms.ErrPrivate):
		return relay.NoMember, nil
	}
	return relay.NoPost, nil
}
