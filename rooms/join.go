package rooms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// JoinVariable is the environment variable with the names of the rooms, separated by commas, that a
// session joins at its first call.
const JoinVariable = "C2C_MCP_AUTO_JOIN_ROOMS"

// Join makes a session a member of a room. If create is set and there is no such room, it makes the
// room. If the room is on another machine, Join asks that machine; the session becomes a member
// when the machine agrees.
func Join(ctx context.Context, b *broker.Broker, s sessions.Session, name string, create bool) (already bool, err error) {
	if _, host := HostOf(name); host != "" {
		return joinAway(ctx, b, s, name)
	}
	reg := b.Registry
	st := StoreOf(reg)
	var r *Room
	if create {
		r, err = st.OpenOrCreate(ctx, name, s.Alias)
	} else {
		r, err = st.Open(name)
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	// Write the fact InRooms first: without it no hook looks for posts. If a kill follows, the fact
	// is wrong, which costs one look.
	if err := setInRooms(ctx, reg, s, true); err != nil {
		return false, err
	}
	rows, err := reg.Rows(ctx)
	if err != nil {
		return false, err
	}
	already, err = r.Join(ctx, s.ID, s.Alias, func(sid string) bool { // reports whether a former holder of the alias has left
		i := sessions.FindSID(rows, sid)
		return i < 0 || strings.EqualFold(rows[i].Alias(), s.Alias) // a session that now has another alias has not left
	})
	if err == nil && !already {
		reg.Events.Record(ctx, "room_join", "room_id", name, "alias", s.Alias)
	}
	return already, err
}

func setInRooms(ctx context.Context, reg *sessions.Registry, s sessions.Session, in bool) error {
	if s.Facts.InRooms == in {
		return nil
	}
	return reg.Facts.Change(ctx, s.ID, func(f *sessions.Facts) { f.InRooms = in })
}

// Leave ends a session's membership.
func Leave(ctx context.Context, b *broker.Broker, s sessions.Session, name string) error {
	reg := b.Registry
	st := StoreOf(reg)
	r, err := st.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, host := HostOf(name); host != "" {
		err = leaveAway(ctx, b, s, r)
	} else {
		err = r.Leave(ctx, s.ID, s.Alias)
	}
	if err != nil {
		return err
	}
	reg.Events.Record(ctx, "room_leave", "room_id", name, "alias", s.Alias)
	left, err := st.Of(s.ID)
	if err != nil || len(left) > 0 {
		return err
	}
	return setInRooms(ctx, reg, s, false)
}

// JoinAll joins the rooms in list, the value of JoinVariable. It continues after an error.
func JoinAll(ctx context.Context, b *broker.Broker, s sessions.Session, list string) error {
	var errs []error
	for _, name := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		_, err := Join(ctx, b, s, name, true)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Invite makes a session of this root a member of a room, and tells the session by a message that
// does not wake it. The result in is true if the session is a member now; the receipt has no id if
// it was one before. To a session of another machine, and in a room of another machine, Invite only
// sends an invitation.
func Invite(ctx context.Context, b *broker.Broker, from sessions.Session, name, alias string) (sent broker.Receipt, in bool, err error) {
	r, err := StoreOf(b.Registry).Open(name)
	if err != nil {
		return sent, false, err
	}
	defer r.Close()
	if err := IsMember(r, from); err != nil {
		return sent, false, err
	}
	if _, _, far := mail.SplitAddress(alias); far {
		sent, err = inviteAway(ctx, b, from, r, alias)
		return sent, false, err
	}
	rows, err := b.Rows(ctx)
	if err != nil {
		return sent, false, err
	}
	row := b.Registry.Receiver(rows, alias)
	if row == nil {
		return sent, false, sessions.UnknownAlias(b.Registry, rows, alias)
	}
	s := b.Session(row)
	meta, err := r.Meta()
	_, host := HostOf(r.Name)
	in = host == ""
	switch {
	case err == nil && host != "" && meta.Private:
		err = fmt.Errorf("room %q: %w", r.Name, ErrElsewhere)
	case err == nil && in && meta.Private:
		err = r.Invite(ctx, s.Alias)
	}
	m := mail.Message{To: s.Alias, Content: fmt.Sprintf("You are invited to the room %[1]s. Join it with the tool room, or: c2c rooms join %[1]s. Posts there wake you only when they name or answer you.", r.Name)}
	if in && err == nil {
		var already bool
		if already, err = Join(ctx, b, s, r.Name, false); already {
			return broker.Receipt{To: s.Alias}, true, err
		}
		m.Content = fmt.Sprintf("I have added you to the room %[1]s. Posts there wake you only when they name or answer you. To leave: the tool room, or c2c rooms leave %[1]s", r.Name)
		m.Deferrable, m.TellAfter = true, -1
	}
	if err == nil {
		sent, err = b.Send(ctx, from, m)
	}
	return sent, in, err
}

// IsMember returns an error that matches rooms.ErrNotMember if a session is not in a room.
func IsMember(r *Room, s sessions.Session) error {
	members, err := r.Members()
	if err == nil && !slices.ContainsFunc(members, func(m Member) bool { return m.SID == s.ID }) {
		err = fmt.Errorf("room %q: you are %w", r.Name, ErrNotMember)
	}
	return err
}

// MayRead returns an error if a session may not read a room. Only members may read a private room.
func MayRead(r *Room, s sessions.Session) error {
	meta, err := r.Meta()
	if err != nil || !meta.Private {
		return err
	}
	return IsMember(r, s)
}

// News finds the posts that are new to a session in its rooms.
func NewsFor(ctx context.Context, reg *sessions.Registry, s sessions.Session, onlyOpen bool) (News, error) {
	if !s.Facts.InRooms {
		return News{}, nil
	}
	box, err := reg.Mailbox(s.ID)
	if err != nil {
		return News{}, err
	}
	return StoreOf(reg).News(s.ID, onlyOpen, func(id string) bool {
		found, err := box.Find(ctx, id)
		return err == nil && len(found) > 0
	})
}

// About describes a room for lists.
type About struct {
	Room    string   `json:"room_id"`
	Count   int      `json:"member_count"`
	Members []string `json:"members"`
	Alive   int      `json:"alive_member_count"`
	Dead    int      `json:"dead_member_count"`
	Unknown int      `json:"unknown_member_count"`
	Details []Detail `json:"member_details"`
	Kind    string   `json:"visibility"` // public or invite_only
	Invited []string `json:"invited_members"`
	Mine    bool     `json:"member"`          // the calling session is in the room
	Asked   bool     `json:"asked,omitempty"` // the calling session has asked the machine of the room to let it join, and waits
	Last    float64  `json:"last_post_ts,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// Detail is a member of a room in a list.
type Detail struct {
	Alias string         `json:"alias"`
	SID   string         `json:"session_id"`
	Alive *bool          `json:"alive"`
	Level Level          `json:"level"`
	State sessions.State `json:"state"`
}

// List describes the rooms of a root. If mine is set, it describes only the session's rooms.
func ListRooms(ctx context.Context, reg *sessions.Registry, s sessions.Session, mine bool) ([]About, error) {
	st := StoreOf(reg)
	names, err := st.Names()
	if err != nil {
		return nil, err
	}
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	all := []About{}
	for _, name := range names {
		a := describe(reg, st, rows, name, s)
		if a.Mine || !mine {
			all = append(all, a)
		}
	}
	return all, nil
}

func describe(reg *sessions.Registry, st Store, rows []sessions.Row, name string, s sessions.Session) About {
	a := About{Room: name, Members: []string{}, Details: []Detail{}, Invited: []string{}}
	r, err := st.Open(name)
	if err == nil {
		defer r.Close()
		a, err = DescribeRoom(reg, rows, r, s)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// Describe describes one room.
func DescribeRoom(reg *sessions.Registry, rows []sessions.Row, r *Room, s sessions.Session) (About, error) {
	a, look := About{Room: r.Name, Members: []string{}, Details: []Detail{}, Invited: []string{}, Kind: "public"}, reg.Prober()
	meta, err := r.Meta()
	if meta.Private {
		a.Kind = "invite_only"
	}
	a.Invited = append(a.Invited, meta.Invited...)
	members, merr := r.Members()
	for _, m := range members {
		d := Detail{Alias: AliasOf(rows, &m), SID: m.SID, Level: m.Level, State: sessions.Absent}
		if i := sessions.FindSID(rows, m.SID); i >= 0 {
			d.State = look.Session(rows[i]).State
		} else if isFar(m.SID, m.Alias) {
			d.State = sessions.Remote
		}
		if alive := d.State == sessions.Alive; alive || d.State == sessions.Absent {
			d.Alive = &alive
		}
		switch d.State {
		case sessions.Absent:
			a.Dead++
		case sessions.Alive:
			a.Alive++
		default:
			a.Unknown++
		}
		a.Mine = a.Mine || m.SID == s.ID
		a.Members, a.Details = append(a.Members, d.Alias), append(a.Details, d)
	}
	a.Count = len(members)
	if _, host := HostOf(r.Name); host != "" {
		asked, aerr := r.Asked()
		a.Asked = slices.ContainsFunc(asked, func(one Asked) bool { return one.SID == s.ID })
		merr = errors.Join(merr, aerr)
	}
	last, lerr := r.Last(1, nil)
	if len(last) > 0 {
		a.Last = last[0].TS
	}
	return a, errors.Join(err, merr, lerr)
}

// JSON returns posts in the form of a list in JSON.
func PostsJSON(posts []Post) []json.RawMessage { return marked(posts, "") }

// Old is like JSON, but marks the posts as older than a member's join.
func OldPosts(posts []Post) []json.RawMessage { return marked(posts, `,"old":true`) }

func marked(posts []Post, mark string) []json.RawMessage {
	all := []json.RawMessage{}
	for _, p := range posts {
		line := p.JSON()
		all = append(all, append(line[:len(line)-1], mark+"}"...))
	}
	return all
}
