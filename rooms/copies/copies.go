// Package copies keeps rooms that have members on several machines. The home of a room stores the posts and gives their order. It sends
// each post once to each other machine with members, however many they are. That machine appends the post to its copy of the room, and
// wakes those of its members whom the post names.
//
// The relay runs this package: Home looks what must go out, and Receive does what came. What two machines say is a talk.Op, in an
// ordinary message to #review@devbox. So it waits in the outbox, and arrives once and in order. docs/inside/rooms.md has the whole.
package copies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/rooms/talk"
	"c2c/sessions"
)

// Receive handles the messages of a paired machine about a room, in their order. A message of kind system comes from the home of a room
// and is for the copy here. Either all messages are of this kind, or there is only one message. Options.MayJoin allows sessions of the
// machine to join rooms here. With MayRepeat, some messages may have been handled before. wakes has the posts that one session here got
// as a message.
//
// An error that IsFinal reports is an answer: nothing was done, and it would be so again. After any other error the caller tries again.
func Receive(ctx context.Context, b *broker.Broker, peer, room string, msgs []mail.Message, o Options) (wakes []Waken, err error) {
	ctx, end := context.WithTimeout(ctx, cmp.Or(o.Patience, patience))
	defer end()
	if len(msgs) > 0 && msgs[0].Kind == mail.KindSystem {
		return fromHome(ctx, b, peer, room, msgs, o.MayRepeat)
	}
	for _, m := range msgs {
		if err := atHome(ctx, b, peer, room, m, o); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// patience is how long a message about a room may wait for locks. A suspended process may hold a lock, and all later mail of the
// machine waits.
const patience = 15 * time.Second

// Options are the circumstances of Receive.
type Options struct {
	MayJoin   bool
	MayRepeat bool
	Limit     int           // see talk.LimitOf
	Patience  time.Duration // how long Receive waits, mostly for locks; 0: the default
}

// Waken is a session that got a post as a message, when no other session here got it.
type Waken struct {
	SID     string
	Message mail.Message
}

// ErrPost means that the room does not take the post. The text of the error says why.
var ErrPost = errors.New("the room does not take it")

// ErrForbidden means that sessions of the machine may not join rooms here.
var ErrForbidden = errors.New("this machine may not join rooms here")

// IsFinal reports whether Receive would return this error again if it were called again.
func IsFinal(err error) bool {
	for _, final := range []error{rooms.ErrNoRoom, rooms.ErrNotMember, rooms.ErrPrivate, ErrPost, ErrForbidden} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// atHome handles a message from a session of another machine to a room of this machine.
func atHome(ctx context.Context, b *broker.Broker, peer, name string, m mail.Message, o Options) error {
	op, err := talk.ParseOp(m)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrPost, err)
	}
	for tried := ""; ; {
		now, err := inRoom(ctx, b, peer, name, m, op, o)
		if !errors.Is(err, rooms.ErrNoRoom) || now == "" || now == tried {
			return lasting(err)
		}
		tried = now // it may have got another name just now
	}
}

// inRoom is one try of atHome. now is the room's present name; "": there is no such room.
func inRoom(ctx context.Context, b *broker.Broker, peer, name string, m mail.Message, op talk.Op, o Options) (now string, err error) {
	r, err := talk.StoreOf(b.Registry).OpenOrGone(ctx, name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return r.Name, do(ctx, b, peer, r, m, op, o)
}

// do does in a room what a session of another machine wants.
func do(ctx context.Context, b *broker.Broker, peer string, r *rooms.Room, m mail.Message, op talk.Op, o Options) error {
	if op.Do != talk.DoJoin {
		if err := r.AliasFrom(ctx, m.FromSession, m.From); err != nil {
			return err
		}
	}
	switch op.Do {
	case talk.DoJoin:
		if !o.MayJoin {
			return ErrForbidden
		}
		err := r.JoinFrom(ctx, peer, m.FromSession, m.From, m.ID, op.Level)
		if err == nil {
			b.Events.Record(ctx, "room_join", "room_id", r.Name, "alias", m.From)
		}
		return err
	case talk.DoLeave:
		return r.LeaveFrom(ctx, peer, m.FromSession, m.From)
	case talk.DoLevel:
		return r.LevelFrom(ctx, m.FromSession, op.Level)
	case talk.DoPost:
		return post(ctx, b, peer, r.Name, m, op, o)
	}
	return fmt.Errorf("%w: it knows no %.40q", ErrPost, op.Do)
}

// post makes a post for a member on another machine.
func post(ctx context.Context, b *broker.Broker, peer, name string, m mail.Message, op talk.Op, o Options) error {
	from := sessions.Session{ID: m.FromSession, Alias: m.From, KnownBy: mail.ByHost, State: sessions.Remote}
	if m.FromPerson {
		from.State = sessions.Person
	}
	named := talk.Named{All: op.All, SIDs: slices.Clone(op.Names)}
	for _, sid := range op.NamesOwn {
		named.SIDs = append(named.SIDs, mail.RemoteSession(peer, sid, ""))
	}
	d := talk.Draft{Room: name, Wake: op.Wake, Reason: op.Reason, Limit: o.Limit, Named: &named,
		Message: mail.Message{Content: op.Text, ID: m.ID, InReplyTo: op.InReplyTo, Kind: op.Kind, Tag: op.Tag}}
	r, err := talk.Post(ctx, b, from, d)
	if err == nil && len(r.Skipped) > 0 {
		err = cmp.Or(ctx.Err(), ofAMoment(r.Why))
	}
	return err
}

// ofAMoment returns the first error that need not come again, such as one of the disk: the caller tries again, which tells those members
// that were not told. A lock may be held for days, by a suspended process: the other mail of the machine does not wait for it.
func ofAMoment(errs []error) error {
	for _, err := range errs {
		if err = lasting(err); !IsFinal(err) && !errors.Is(err, filelock.ErrTimeout) {
			return err
		}
	}
	return nil
}

// lasting marks an error that would come again as an answer. What a foreign file in the place of one of ours keeps back waits for a
// person, and must not keep the machine's other mail back.
func lasting(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	switch {
	case err == nil || IsFinal(err):
		return err
	case inbox.IsBlocked(err):
	case errors.Is(err, filelock.ErrTimeout), errors.As(err, &path), errors.As(err, &errno), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrPost, err)
}
