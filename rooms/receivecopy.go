package rooms

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// copied has a copy of a room, and what is needed to add posts to it.
type copied struct {
	b       *broker.Broker
	room    *Room
	host    string
	rows    []sessions.Row
	members []Member
}

// arrival is a post that has come from the home, and the sessions here that it names.
type arrival struct {
	Post
	names []string // the sessions here that the post names, by their ids as the home tells them
	own   bool     // the author is a session here
}

// fromHome handles messages from the home of a room to the copy here.
func fromHome(ctx context.Context, b *broker.Broker, peer, room string, msgs []mail.Message, mayRepeat bool) (wakes []Waken, err error) {
	st := StoreOf(b.Registry)
	var posts []arrival
	add := func() error {
		some, err := addPosts(ctx, b, peer, room, posts, mayRepeat)
		wakes, posts = append(wakes, some...), nil
		return err
	}
	for _, m := range msgs {
		op, err := ParseRoomOp(m)
		if err != nil {
			b.Log.Warn("a message about a room is left out", "room", room, "host", peer, "err", err)
			continue
		}
		switch op.Do {
		case DoCopy:
			if a, err := arrived(op, m); err != nil {
				b.Log.Warn("a post is left out", "room", room, "host", peer, "err", err)
			} else {
				posts = append(posts, a)
			}
		case DoList:
			if err = add(); err == nil {
				err = setList(ctx, st, peer, room, op)
			}
		case DoClose:
			if err = add(); err == nil {
				err = st.CloseCopy(ctx, room+"@"+peer)
			}
		}
		if err = leaveOut(b, peer, room, err); err != nil {
			return wakes, err
		}
	}
	return wakes, leaveOut(b, peer, room, add())
}

// leaveOut logs an error and returns nil if a second try would fail, too: no message about a room
// may hold up a machine's other mail. It returns any other error.
func leaveOut(b *broker.Broker, peer, room string, err error) error {
	if err = lasting(err); errors.Is(err, ErrPost) {
		b.Log.Warn("a message about a room is left out", "room", room, "host", peer, "err", err)
		return nil
	}
	return err
}

// arrived reads a post, and gives it a time of this machine's clock. It returns an error for a post
// that no member could have made. Members get the post as a message, and a forged post must not
// look like a notice of c2c.
func arrived(op RoomOp, m mail.Message) (arrival, error) {
	p, err := ParsePost(op.Post, op.Text)
	if err == nil {
		err = broker.CheckSender(sessions.Session{ID: cmp.Or(p.Session, "none"), Alias: p.From}, p.Message())
	}
	for _, id := range []string{p.ID, cmp.Or(p.Thread, p.ID), cmp.Or(p.InReplyTo, p.ID)} {
		if err == nil {
			err = sessions.CheckID(id)
		}
	}
	p.TS, p.KnownBy, p.To = m.TS, mail.ByHost, nil
	return arrival{p, op.NamesOwn, op.Own}, err
}

// setList gives the copy the home's list of members.
func setList(ctx context.Context, st Store, peer, room string, op RoomOp) error {
	r, err := st.Open(room + "@" + peer)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.SetList(ctx, op.Private, op.Members)
}

// addPosts gives each post to the sessions here that it names, and then appends the posts to the
// copy. If a kill comes in between, the caller repeats both.
func addPosts(ctx context.Context, b *broker.Broker, peer, room string, posts []arrival, mayRepeat bool) (wakes []Waken, err error) {
	if len(posts) == 0 {
		return nil, nil
	}
	c := &copied{b: b, host: peer}
	if c.room, err = StoreOf(b.Registry).Open(room + "@" + peer); err != nil {
		return nil, err
	}
	defer c.room.Close()
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	lines := make([]Post, len(posts))
	for i := range posts {
		c.adopt(&posts[i])
		lines[i] = posts[i].Post
	}
	for _, p := range posts { // before the copy has the posts: the digest of a session that has no message yet would show them, too
		// The relay reports states by message id. If several sessions get the post, it cannot
		// report the state of each, so it reports none.
		got, err := c.give(ctx, p)
		if err != nil {
			return wakes, err
		}
		if len(got) == 1 {
			wakes = append(wakes, got...)
		}
	}
	return wakes, c.room.AddCopies(ctx, lines, mayRepeat)
}

// read reads the members, and the sessions that have asked to be members.
func (c *copied) read(ctx context.Context) (err error) {
	if c.rows, err = c.b.Rows(ctx); err != nil {
		return err
	}
	if c.members, err = c.room.Members(); err != nil {
		return err
	}
	asked, err := c.room.Asked()
	if err != nil {
		return err
	}
	for _, a := range asked {
		c.members = append(c.members, Member{SID: a.SID, Alias: a.Alias, Level: Quiet})
	}
	return nil
}

// adopt turns a post of the home into a post of the copy. It sets the author's alias and session as
// this machine knows them, and sets To to the sessions here that the post names.
func (c *copied) adopt(p *arrival) {
	own := -1
	for i, m := range c.members {
		if IsOn(c.host, m.SID) {
			continue
		}
		if slices.ContainsFunc(p.names, func(told string) bool { return IsSession(told, m.SID) }) {
			p.To = append(p.To, m.SID)
		}
		if p.own && IsSession(p.Session, m.SID) {
			own = i
		}
	}
	if own >= 0 {
		p.From, p.Session, p.KnownBy = AliasOf(c.rows, &c.members[own]), c.members[own].SID, ""
		return
	}
	p.Session = mail.RemoteSession(c.host, p.Session, p.From)
	p.From = AliasAt(c.host, p.From)
}

// give gives a post to the sessions here that it names. If a mailbox does not take the post, the
// post stays new to the session in the room. After an error the caller tries again.
func (c *copied) give(ctx context.Context, p arrival) (wakes []Waken, err error) {
	for _, m := range c.members {
		if IsOn(c.host, m.SID) || m.SID == p.Session || m.Level == Muted || !slices.Contains(p.To, m.SID) {
			continue
		}
		msg := p.Message()
		if p.Reason != "" {
			msg.Content += ReasonText(p.Reason)
		}
		msg.TellAfter, msg.Due = -1, owed.NotAsked
		err := broker.ReceiveFromRoom(ctx, c.b, m.SID, c.room.Name, []mail.Message{msg}, true)
		if err = lasting(err); err != nil && !IsFinal(err) {
			return wakes, err
		}
		if err != nil {
			c.b.Log.Warn("a member did not get a post that names it", "room", c.room.Name, "member", m.SID, "err", err)
			continue
		}
		wakes = append(wakes, Waken{m.SID, msg})
	}
	return wakes, nil
}

// RefusedCopy is called when the other machine has refused the message m about a room for good. The
// argument isMember means that the sender may still be a member. The result words is the text that
// the sender of m has written, for a notice to the sender.
func RefusedCopy(ctx context.Context, b *broker.Broker, peer string, m mail.Message, isMember bool) (words string, err error) {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	op, err := ParseRoomOp(m)
	if err != nil {
		return "", nil
	}
	room, _ := HostOf(mail.RoomOf(m.To))
	defer func() { err = leaveOut(b, peer, room, err) }()
	st := StoreOf(b.Registry)
	if m.Kind == mail.KindSystem { // the other machine has no copy any more
		r, err := st.Open(room)
		if errors.Is(err, ErrNoRoom) {
			return "", nil
		}
		if err == nil {
			defer r.Close()
			err = r.DropHost(ctx, peer, m.TS) // sessions that have joined since then have a new copy
		}
		return "", err
	}
	words = op.Text
	if isMember && op.Do != DoJoin {
		return words, nil
	}
	r, err := st.Open(room + "@" + peer)
	if errors.Is(err, ErrNoRoom) {
		return words, nil
	}
	if err != nil {
		return words, err
	}
	defer r.Close()
	return words, r.Withdraw(ctx, m.FromSession)
}
