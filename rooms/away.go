package rooms

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Op is a request or a report between two machines about a room in which both have members. It
// travels as the last line of an ordinary message, for example to #review@devbox: from a member to
// the home of the room, or from the home to a machine with a copy.
type RoomOp struct {
	Do string `json:"do"`

	// Fields of an Op to the home.
	Text      string   `json:"-"`                     // stands before the JSON: the text of the post, or words for people; in DoCopy only if Post would be too long with the text
	InReplyTo string   `json:"in_reply_to,omitempty"` // this field and those below: only in DoPost
	Kind      string   `json:"kind,omitempty"`
	Tag       string   `json:"tag,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Wake      bool     `json:"wake,omitempty"`
	All       bool     `json:"all,omitempty"`       // the post names all members
	Names     []string `json:"names,omitempty"`     // the members that the post names, by the session ids that the home uses
	NamesOwn  []string `json:"names_own,omitempty"` // the named members on the author's machine, by its session ids; in DoCopy: those on the receiving machine, by its ids

	// Fields of an Op to a machine with a copy.
	Post    json.RawMessage `json:"post,omitempty"`    // only in DoCopy: a line of the history
	Own     bool            `json:"own,omitempty"`     // only in DoCopy: the author is on the receiving machine
	Private bool            `json:"private,omitempty"` // only in DoList
	Members []Entry         `json:"members,omitempty"` // only in DoList
}

// The kinds of an Op.
const (
	DoJoin  = "join"
	DoLeave = "leave"
	DoPost  = "post"
	DoCopy  = "copy"  // a post of the home, to append to the copy
	DoList  = "list"  // the list of the members
	DoClose = "close" // the room was archived
)

// Message makes the message of an op. An op from a session to the home begins with words for
// people, because people see the message in the outbox.
func (op RoomOp) Message(to string) mail.Message {
	text := ""
	switch {
	case op.Do == DoPost, op.Text != "":
		text = op.Text + "\n"
	case op.Do == DoJoin, op.Do == DoLeave:
		text = fmt.Sprintf("c2c rooms %s %s\n", op.Do, strings.TrimPrefix(to, "#"))
	}
	text += strings.TrimSuffix(string(jsonLine(op)), "\n")
	return mail.Message{To: to, Content: text, TellAfter: -1, Due: owed.NotAsked}
}

// ParseOp reads the op in a message.
func ParseRoomOp(m mail.Message) (op RoomOp, err error) {
	text, line := "", m.Content
	if i := strings.LastIndexByte(m.Content, '\n'); i >= 0 {
		text, line = m.Content[:i], m.Content[i+1:]
	}
	if err = json.Unmarshal([]byte(line), &op); err != nil {
		return op, fmt.Errorf("a message about a room is damaged: %w", err)
	}
	op.Text = text
	return op, nil
}

// tellHome sends an op to the home of a room.
func tellHome(ctx context.Context, b *broker.Broker, from sessions.Session, room, id string, op RoomOp) (broker.Receipt, error) {
	m := op.Message("#" + room)
	if m.ID = id; id == "" {
		m.ID = mail.NewID(b.Now())
	}
	return b.Send(ctx, from, m)
}

// joinAway asks the home of a room to let a session join.
func joinAway(ctx context.Context, b *broker.Broker, s sessions.Session, name string) (already bool, err error) {
	_, host := HostOf(name)
	if err := broker.CheckHost(b, host); err != nil {
		return false, err
	}
	if err := setInRooms(ctx, b.Registry, s, true); err != nil {
		return false, err
	}
	wish := mail.NewID(b.Now())
	already, again, err := StoreOf(b.Registry).Ask(ctx, name, Asked{SID: s.ID, Alias: s.Alias, Wish: wish})
	if err != nil || already {
		return already, err
	}
	if _, err = tellHome(ctx, b, s, name, wish, RoomOp{Do: DoJoin}); err != nil {
		if !again { // the session's only request was not sent, so no answer will come
			err = errors.Join(err, withdraw(ctx, b, s, name))
		}
		return false, err
	}
	b.Events.Record(ctx, "room_join", "room_id", name, "alias", s.Alias)
	return false, nil
}

// withdraw takes back a wish to join, even if ctx has ended.
func withdraw(ctx context.Context, b *broker.Broker, s sessions.Session, name string) error {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer end()
	r, err := StoreOf(b.Registry).Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Withdraw(ctx, s.ID)
}

// inviteAway allows a session on another machine to join a room of this machine, and tells the
// session by a message.
func inviteAway(ctx context.Context, b *broker.Broker, from sessions.Session, r *Room, alias string) (broker.Receipt, error) {
	if _, host := HostOf(r.Name); host != "" {
		return broker.Receipt{}, fmt.Errorf("room %q: %w", r.Name, ErrElsewhere)
	}
	text := fmt.Sprintf("You are invited to the room %[1]s on my machine. Join it with the tool room, or: c2c rooms join %[1]s@HOST. HOST is what follows the @ of this message's sender. Posts there wake you only when they name or answer you.", r.Name)
	sent, err := b.Send(ctx, from, mail.Message{To: alias, Content: text})
	if err == nil {
		err = r.Invite(ctx, sent.To)
	}
	return sent, err
}

// leaveAway takes a session out of a copy at once, and tells the home, unless this machine and the
// home are not paired any more.
func leaveAway(ctx context.Context, b *broker.Broker, s sessions.Session, r *Room) error {
	_, err := tellHome(ctx, b, s, r.Name, "", RoomOp{Do: DoLeave})
	if unpaired := new(broker.UnknownHostError); err != nil && !errors.As(err, &unpaired) {
		return err
	}
	return r.Withdraw(ctx, s.ID)
}

// ArchiveRoom closes a room, and tells the machines with members. Before that, it puts the last
// posts into the outboxes for them. The result path is the new directory of the room's files.
func ArchiveRoom(ctx context.Context, b *broker.Broker, name string) (path string, err error) {
	if _, host := HostOf(name); host != "" {
		return "", fmt.Errorf("archive room %q: %w; c2c rooms leave %[1]s leaves it", name, ErrElsewhere)
	}
	NewHome(b).Look(ctx, func(host, _ string) (paired, mayJoin bool) {
		unpaired := new(broker.UnknownHostError)
		return !errors.As(broker.CheckHost(b, host), &unpaired), true // after another error it may be paired; the relay has ended memberships that may not be
	})
	st := StoreOf(b.Registry)
	r, err := st.Open(name)
	if err != nil {
		return "", err
	}
	hosts, err := r.Hosts()
	r.Close()
	if err != nil {
		b.Log.Warn("the machines with members of a room could not be read", "room", name, "err", err)
	}
	if path, err = st.Archive(ctx, name); err != nil {
		return "", err
	}
	for _, host := range hosts {
		if err := CloseCopy(ctx, b, name, host.Host); err != nil { // the machine will learn it when one of its members posts
			b.Log.Warn("a machine is not told that a room is closed", "room", name, "host", host.Host, "err", err)
		}
	}
	if len(hosts) > 0 {
		startRelay(b)
	}
	return path, nil
}

// CloseCopy tells a machine that its sessions are not in a room any more.
func CloseCopy(ctx context.Context, b *broker.Broker, room, host string) error {
	m := RoomOp{Do: DoClose}.Message("#" + room + "@" + host)
	m.ID = mail.NewID(b.Now())
	return ToCopies(ctx, b, host, m)
}

// ToCopies puts messages about a room of this machine into the outbox for another machine. If a
// message brings a post, the caller sets FromSession to the author's session. By this session, c2c
// status finds the states that the other machine reports.
func ToCopies(ctx context.Context, b *broker.Broker, host string, msgs ...mail.Message) error {
	box, err := b.Mailbox(sessions.HostPrefix + host)
	if err != nil {
		return err
	}
	for i := range msgs {
		m := &msgs[i]
		m.From, m.FromSession, m.Kind = sessions.SystemAlias, cmp.Or(m.FromSession, sessions.SystemAlias), mail.KindSystem
	}
	_, err = box.Deliver(ctx, msgs...)
	return err
}

// hasAsked reports whether the author has asked to join a room of another machine, and waits. Such
// an author may post already, because the home gets the request to join before the post.
func (p *posting) hasAsked() (bool, error) {
	if _, host := HostOf(p.room.Name); host == "" {
		return false, nil
	}
	asked, err := p.room.Asked()
	return slices.ContainsFunc(asked, func(a Asked) bool { return a.SID == p.from.ID }), err
}

// sendHome sends the post to the home of its room. The home stores the post, and wakes the members
// that the post names.
func (p *posting) sendHome(ctx context.Context, host string) (Receipt, error) {
	d := p.draft.Message
	op := RoomOp{Do: DoPost, Text: d.Content, InReplyTo: p.replied.ID, Kind: d.Kind, Tag: d.Tag, Reason: p.draft.Reason, Wake: p.draft.Wake, All: p.all && !p.draft.Wake}
	for _, m := range p.targets {
		if sid, far := SessionOn(host, m.SID); far {
			op.Names = append(op.Names, sid)
		} else {
			op.NamesOwn = append(op.NamesOwn, m.SID)
		}
		if !p.all {
			p.receipt.Sends = append(p.receipt.Sends, m.alias)
		}
	}
	if p.all {
		op.Names, op.NamesOwn = nil, nil
	}
	post := Post{From: p.from.Alias, Content: d.Content, Reason: p.draft.Reason, ID: d.ID}
	if err := post.Check(); err != nil {
		return Receipt{}, err
	}
	sent, err := tellHome(ctx, p.b, p.from, p.room.Name, d.ID, op)
	if err != nil {
		return Receipt{}, err
	}
	p.receipt.Host, p.receipt.ID, p.receipt.InReplyTo, p.receipt.TS = host, sent.ID, op.InReplyTo, sent.TS
	p.receipt.Duplicate, p.receipt.Note, p.receipt.StoredFor, p.receipt.DeliveredTo = sent.Duplicate, sent.Note, 0, []string{}
	return p.receipt, nil
}

// checkFar checks the targets on other machines. In a room of another machine, all targets count as
// such. For them c2c keeps no deadline, so a post with one is an error. If the post does not ring,
// they are no targets, and see it in their next turn.
func (p *posting) checkFar() error {
	_, home := HostOf(p.room.Name)
	far := func(m one) bool { return home != "" || m.isFar() }
	m := p.draft.Message
	if i := slices.IndexFunc(p.targets, far); i >= 0 && (m.AnswerBy != 0 || m.TellAfter > 0) {
		return fmt.Errorf("answer-by and tell-after are for members on this machine, in a room of this machine: write to %s without the room", p.targets[i].alias)
	}
	if !m.Deferrable {
		return nil
	}
	for _, one := range p.targets {
		if far(one) {
			p.receipt.Waits = append(p.receipt.Waits, one.alias)
		}
	}
	p.targets = slices.DeleteFunc(p.targets, far)
	return nil
}

// wantRelay starts the relay if the room has members on other machines: the relay sends the post to
// these machines.
func (p *posting) wantRelay() {
	if slices.ContainsFunc(p.members, one.isFar) {
		startRelay(p.b)
	}
}

func startRelay(b *broker.Broker) {
	if err := broker.StartRelay(b); err != nil {
		b.Log.Warn("posts wait for the relay", "err", err)
	}
}

// isFar reports whether a member is on another machine.
func isFar(sid, alias string) bool {
	_, _, far := mail.SplitAddress(alias)
	return far && strings.HasPrefix(sid, "r-")
}
