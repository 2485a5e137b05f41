package rooms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
)

// Home sends new posts and lists of members in the rooms of a root to the other machines with
// members. For each root and machine, only one process may do this. Only one goroutine at a time
// may call Look.
type Home struct {
	b    *broker.Broker
	said map[string]string // key: a room; value: the last logged error, so that Look does not log it again
}

// NewHome returns the Home of a root.
func NewHome(b *broker.Broker) *Home {
	return &Home{b: b, said: map[string]string{}}
}

// Rights reports whether mail may go to a host, and whether the host's sessions may be in a room.
type Rights func(host, room string) (paired, mayJoin bool)

// Look puts the news of the rooms into the outboxes, and returns the directories to watch for more.
// Members on a machine that may not be in a room lose their membership. Look logs errors; the next
// Look tries again.
func (h *Home) Look(ctx context.Context, rights Rights) (dirs []string) {
	st := StoreOf(h.b.Registry)
	names, err := st.Names()
	h.say(ctx, "", err)
	for _, name := range names {
		dir, err := h.look(ctx, st, name, rights)
		if dir != "" {
			dirs = append(dirs, dir)
		}
		h.say(ctx, name, err)
	}
	return dirs
}

// look returns the directory of a room with members on other machines, after it has sent them the
// news.
func (h *Home) look(ctx context.Context, st Store, name string, rights Rights) (dir string, err error) {
	r, err := st.Open(name)
	if errors.Is(err, ErrNoRoom) { // it was archived just now
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	hosts, err := r.Hosts()
	if err == nil && len(hosts) == 0 {
		return "", nil
	}
	if err == nil {
		ctx, end := context.WithTimeout(ctx, lockTime)
		defer end()
		err = h.sendNew(ctx, r, hosts, rights)
	}
	return r.Path(), err // a room that cannot be read may have members on other machines
}

// say logs an error of a room once.
func (h *Home) say(ctx context.Context, name string, err error) {
	switch {
	case err == nil:
		delete(h.said, name)
	case ctx.Err() == nil && h.said[name] != err.Error():
		h.said[name] = err.Error()
		h.b.Log.Warn("posts in a room wait here for other machines", "room", name, "err", err)
	}
}

// lockTime is how long Look waits for the locks of a room. The wait is limited because a suspended
// process may hold a lock, and the other rooms must not wait for it.
const lockTime = 5 * time.Second

// sendNew sends each machine the posts and the list of members that it does not have yet.
func (h *Home) sendNew(ctx context.Context, r *Room, hosts []Sent, rights Rights) error {
	var errs []error
	for _, s := range hosts {
		switch paired, mayJoin := rights(s.Host, r.Name); {
		case !paired:
			errs = append(errs, ForgetHost(ctx, r, s.Host))
		case !mayJoin:
			err := CloseCopy(ctx, h.b, r.Name, s.Host)
			if err == nil {
				err = r.DropHost(ctx, s.Host, math.MaxFloat64)
			}
			errs = append(errs, err)
		default:
			errs = append(errs, h.sendTo(ctx, r, s))
		}
	}
	return errors.Join(errs...)
}

func (h *Home) sendTo(ctx context.Context, r *Room, s Sent) error {
	for {
		posts, end, err := r.After(s.Read)
		if err != nil || end == s.Read {
			if err == nil {
				err = h.sendList(ctx, r, &s)
			}
			return err
		}
		for part := range slices.Chunk(posts, 128) {
			if err := h.sendPosts(ctx, r, s, part); err != nil {
				return err
			}
		}
		was := s
		s.Read = end
		if err := r.RecordSent(ctx, was, s); err != nil {
			return err
		}
	}
}

// sendPosts puts posts into the outbox for a machine. If a kill comes before RecordSent, the next
// call gets the same posts again; the outbox skips those that it has or had.
func (h *Home) sendPosts(ctx context.Context, r *Room, s Sent, posts []Post) error {
	msgs := make([]mail.Message, 0, len(posts))
	for _, p := range posts {
		if p.ID == "" {
			continue // written by another program: no message can have it
		}
		msgs = append(msgs, copyOf(p, r.Name, s))
	}
	return h.put(ctx, s.Host, r.Name, msgs)
}

// put puts messages into the outbox for a machine, without those that no outbox can take.
func (h *Home) put(ctx context.Context, host, room string, msgs []mail.Message) error {
	err := ToCopies(ctx, h.b, host, msgs...)
	switch {
	case !errors.As(err, new(*inbox.IDTakenError)) && !errors.Is(err, mail.ErrTooLarge) && !errors.Is(err, mail.ErrBody):
		return err
	case len(msgs) == 1:
		h.b.Log.Warn("a post was not sent to another machine", "room", room, "message_id", msgs[0].ID, "err", err)
		return nil
	}
	for one := range slices.Chunk(msgs, 1) {
		if err := h.put(ctx, host, room, one); err != nil {
			return err
		}
	}
	return nil
}

// copyOf makes the message that brings a post to the copy on a machine. For the same post, each
// call makes the same message.
func copyOf(p Post, room string, s Sent) mail.Message {
	op, author, host, id := RoomOp{Do: DoCopy}, p.Session, s.Host, p.ID
	for _, sid := range p.To {
		if own, there := SessionOn(host, sid); there {
			op.NamesOwn = append(op.NamesOwn, own)
		}
	}
	p.To = nil
	if own, there := SessionOn(host, p.Session); there {
		p.Session, op.Own = own, true
	}
	op.Post = p.JSON()
	m := op.Message("#" + room + "@" + host)
	if len(m.Content) > mail.MaxBody { // JSON makes a control character six times as long; so send the text outside the JSON
		op.Text, p.Content = p.Content, ""
		op.Post = p.JSON()
		m = op.Message(m.To)
	}
	m.ID, m.TS, m.FromSession = id, p.TS, author
	return m
}

// sendList sends a machine the list of a room's members, if the machine does not have this list.
func (h *Home) sendList(ctx context.Context, r *Room, s *Sent) error {
	op, err := h.list(ctx, r, s)
	if err != nil {
		return err
	}
	m := op.Message("#" + r.Name + "@" + s.Host)
	sum := sha256.Sum256([]byte(m.Content))
	if text := hex.EncodeToString(sum[:8]); text != s.List {
		m.ID = mail.NewID(h.b.Now())
		if err = ToCopies(ctx, h.b, s.Host, m); err == nil {
			was := *s
			s.List = text
			err = r.RecordSent(ctx, was, *s)
		}
	}
	return err
}

// list makes the list of members for a machine.
func (h *Home) list(ctx context.Context, r *Room, s *Sent) (op RoomOp, err error) {
	op = RoomOp{Do: DoList}
	meta, err := r.Meta()
	op.Private = meta.Private
	if err != nil {
		h.b.Log.Warn("the settings of a room cannot be read, so another machine is told that it is private", "room", r.Name, "err", err)
	}
	members, err := r.Members()
	if err != nil {
		return op, err
	}
	rows, err := h.b.Rows(ctx)
	if err != nil {
		return op, err
	}
	for _, m := range members {
		e := Entry{Alias: AliasOf(rows, &m), SID: m.SID}
		if e.SID, e.Own = SessionOn(s.Host, m.SID); e.Own {
			e.Wish = m.Wish
		}
		op.Members = append(op.Members, e)
	}
	if data, err := json.Marshal(op.Members); err == nil && len(data) > maxList {
		return op, fmt.Errorf("the list of members has %d bytes, at most %d", len(data), maxList)
	}
	return op, nil
}

// maxList is the greatest size of the list of members, in bytes. A list of this size still fits
// into a message.
const maxList = 200 << 10
