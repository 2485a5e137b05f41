// This part keeps rooms that have members on several machines. One machine is the home of a room:
// it stores the posts, and sets their order. It sends each post once to each other machine with
// members, not once for each member. That machine appends the post to its copy of the room, and
// wakes those of its members that the post names.
//
// The relay runs this package: Home sends what is new, and Receive handles the messages that come.
// The machines exchange RoomOps, each in an ordinary message to an address such as #review@devbox.
// So an Op waits in the outbox, and arrives once and in order. See docs/inside/rooms.md.

package rooms

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
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// ReceivePosts handles the messages of a paired machine about a room, in their order. A message of
// kind system comes from the home of a room and is for the copy here. Either all messages are of
// this kind, or there is only one message. The result wakes has each post that exactly one session
// here got as a message.
//
// If IsFinal reports an error, the error is the answer to the message: nothing was done, and a
// second try would fail, too. After any other error the caller tries again.
func ReceivePosts(ctx context.Context, b *broker.Broker, peer, room string, msgs []mail.Message, o CopyOptions) (wakes []Waken, err error) {
	ctx, end := context.WithTimeout(ctx, patience)
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

// patience is how long a message about a room may wait for locks. The wait is limited because a
// suspended process may hold a lock, and meanwhile all later packets of the other machine wait,
// too.
const patience = 15 * time.Second

// CopyOptions are the circumstances of ReceivePosts.
type CopyOptions struct {
	MayJoin   bool // sessions of the other machine may join the room
	MayRepeat bool // some of the messages may have been handled before
	Limit     int  // see LimitOf
}

// Waken is the session that got a post as a message. If several sessions here got the post, there
// is no Waken for it.
type Waken struct {
	SID     string
	Message mail.Message
}

// ErrPost means that the room does not take the post. The text of the error says why.
var ErrPost = errors.New("the room does not take it")

// ErrForbidden means that sessions of the machine may not join rooms here.
var ErrForbidden = errors.New("this machine may not join rooms here")

// IsFinal reports whether a second call of ReceivePosts would return this error again.
func IsFinal(err error) bool {
	for _, final := range []error{ErrNoRoom, ErrNotMember, ErrPrivate, ErrPost, ErrForbidden} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// atHome handles a message from a session of another machine to a room of this machine.
func atHome(ctx context.Context, b *broker.Broker, peer, name string, m mail.Message, o CopyOptions) error {
	op, err := ParseRoomOp(m)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrPost, err)
	}
	r, err := StoreOf(b.Registry).Open(name)
	if err != nil {
		return lasting(err)
	}
	defer r.Close()
	return lasting(carryOut(ctx, b, peer, r, m, op, o))
}

// carryOut does in the room what a session of another machine has asked for.
func carryOut(ctx context.Context, b *broker.Broker, peer string, r *Room, m mail.Message, op RoomOp, o CopyOptions) error {
	if op.Do != DoJoin {
		if err := r.AliasFrom(ctx, m.FromSession, m.From); err != nil {
			return err
		}
	}
	switch op.Do {
	case DoJoin:
		if !o.MayJoin {
			return ErrForbidden
		}
		err := r.JoinFrom(ctx, peer, m.FromSession, m.From, m.ID)
		if err == nil {
			b.Events.Record(ctx, "room_join", "room_id", r.Name, "alias", m.From)
		}
		return err
	case DoLeave:
		return r.LeaveFrom(ctx, m.FromSession, m.From)
	case DoPost:
		return post(ctx, b, peer, r.Name, m, op, o)
	}
	return fmt.Errorf("%w: it knows no %.40q", ErrPost, op.Do)
}

// post makes a post for a member on another machine.
func post(ctx context.Context, b *broker.Broker, peer, name string, m mail.Message, op RoomOp, o CopyOptions) error {
	from := sessions.Session{ID: m.FromSession, Alias: m.From, KnownBy: mail.ByHost, State: sessions.Remote}
	if m.FromPerson {
		from.State = sessions.Person
	}
	named := Named{All: op.All, SIDs: slices.Clone(op.Names)}
	for _, sid := range op.NamesOwn {
		named.SIDs = append(named.SIDs, mail.RemoteSession(peer, sid, ""))
	}
	d := Draft{Room: name, Wake: op.Wake, Reason: op.Reason, Limit: o.Limit, Named: &named,
		Message: mail.Message{Content: op.Text, ID: m.ID, InReplyTo: op.InReplyTo, Kind: op.Kind, Tag: op.Tag}}
	r, err := Publish(ctx, b, from, d)
	if err == nil && len(r.Skipped) > 0 {
		err = cmp.Or(ctx.Err(), ofAMoment(r.Why))
	}
	return err
}

// ofAMoment returns the first error that may be gone at the next try, such as an error of the disk.
// Then the caller tries again, and so reaches the members that were not told. A lock that is not
// free does not count: a suspended process may hold it for days, and the other mail of the machine
// must not wait so long.
func ofAMoment(errs []error) error {
	for _, err := range errs {
		if err = lasting(err); !IsFinal(err) && !errors.Is(err, atomicfile.ErrLockTimeout) {
			return err
		}
	}
	return nil
}

// lasting marks an error with ErrPost if a second try would fail, too. That includes a foreign file
// in the place of one of ours: only a person can remove it, and the machine's other mail must not
// wait for that.
func lasting(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	switch {
	case err == nil || IsFinal(err):
		return err
	case inbox.IsBlocked(err):
	case errors.Is(err, atomicfile.ErrLockTimeout), errors.As(err, &path), errors.As(err, &errno), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrPost, err)
}
