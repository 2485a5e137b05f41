package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker"
	"c2c/rooms"
	"c2c/sessions"
)

// joinRooms joins the rooms that the environment names, once for each session of the peer.
func (p *Peer) joinRooms(ctx context.Context, b *broker.Broker, s sessions.Session) {
	if _, done := p.inRooms.LoadOrStore(s.ID, true); done {
		return
	}
	if err := rooms.JoinAll(ctx, b, s, strings.TrimSpace(p.Client.env(rooms.JoinVariable))); err != nil {
		p.Warn("a room cannot be joined: " + err.Error())
	}
}

// withoutHash returns the name of a room, which a call may write with a # before it.
func withoutHash(name string) string { return strings.TrimPrefix(name, "#") }

// openRoom opens a room that the session may read; the caller closes it.
func openRoom(c *toolCall, s sessions.Session, name string) (*rooms.Room, error) {
	r, err := rooms.StoreOf(c.b.Registry).Open(name)
	if err != nil {
		return nil, err
	}
	if err := rooms.MayRead(r, s); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func roomPosts(c *toolCall, s sessions.Session, name string) (any, error) {
	r, err := openRoom(c, s, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	since := c.req.GetFloat("since", 0)
	posts, err := r.Last(min(c.limit(), 1000), func(p rooms.Post) bool { return p.TS >= since })
	if err != nil {
		return nil, err
	}
	all := rooms.PostsJSON(posts)
	first := c.lastThatFit(len(all), func(i int) int { return min(len(all[i]), c.room()) })
	if first == len(all) && first > 0 { // the newest post is longer than an answer: show its beginning
		first--
		p := posts[first]
		p.Content = strings.ToValidUTF8(p.Content[:min(len(p.Content), c.room()/4)], "") + "…"
		all[first] = p.JSON()
	}
	return listing(c, all[first:], first, fmt.Sprintf("older posts were left out: the command c2c rooms history %s shows all.", r.Name), nil, "")
}

// What the tool room does. The other values are levels.
const (
	doJoin   = "join"
	doLeave  = "leave"
	doInvite = "invite"
)

// roomSaid is the answer of the tool room.
type roomSaid struct {
	Room    string            `json:"room_id"`
	Count   int               `json:"member_count"`
	Asked   bool              `json:"asked,omitempty"` // the room is on another machine, which has not agreed yet
	Level   rooms.Level       `json:"level,omitempty"`
	Invited string            `json:"invitee_alias,omitempty"`
	In      bool              `json:"member,omitempty"` // the invited session is in the room now
	History []json.RawMessage `json:"history,omitempty"`
}

func init() {
	room := entry("room", changeRoom,
		"Join a room (made if missing), leave it, or choose: posts come with your next turn (quiet), also within a turn (open), never (muted).",
		str("name", "").must().or("room_id").filled(),
		str("do", "").must().oneOf(append([]string{doJoin, doLeave}, rooms.Levels()...)),
		integer("history").atLeast(0).atMost(200).or("history_limit"),
		str("invite", "").or("invitee_alias").quiet(),
		str("level", "").oneOf(rooms.Levels()).quiet(), str("alias", "").quiet(),
	)
	do := func(name, what string) Tool { return room.old(name, map[string]any{"do": what}) }
	add(room, do("join_room", doJoin), do("send_room_invite", doInvite), do("leave_room", doLeave))
}

func changeRoom(c *toolCall, ctx context.Context) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	name, do := withoutHash(c.req.GetString("name", "")), c.req.GetString("do", "")
	said, level := roomSaid{Room: name}, c.req.GetString("level", "")
	switch do {
	case doJoin:
		_, err = rooms.Join(ctx, c.b, s, name, true)
	case doLeave:
		err = rooms.Leave(ctx, c.b, s, name)
	case doInvite:
		var r broker.Receipt
		r, said.In, err = rooms.Invite(ctx, c.b, s, name, c.req.GetString("invite", ""))
		said.Invited = r.To
	default:
		level = do
	}
	if err != nil {
		return nil, err
	}
	r, err := rooms.StoreOf(c.b.Registry).Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if level != "" {
		if err := r.SetLevel(ctx, s.ID, rooms.Level(level)); err != nil {
			return nil, err
		}
		said.Level = rooms.Level(level)
	}
	members, err := r.Members()
	if err != nil {
		return nil, err
	}
	said.Count = len(members)
	said.Asked = do == doJoin && !slices.ContainsFunc(members, func(m rooms.Member) bool { return m.SID == s.ID })
	if n := c.req.GetInt("history", 0); n > 0 && do == doJoin && !said.Asked {
		old, err := r.Last(n, nil)
		if err != nil {
			return nil, err
		}
		history := rooms.OldPosts(old)
		said.History = history[c.lastThatFit(len(history), func(i int) int { return 2 * len(history[i]) }):]
	}
	return said, nil
}

// listRooms shows a room with all that is known of it, or all rooms in short.
func listRooms(c *toolCall, ctx context.Context, s sessions.Session, name string, mine bool) (any, error) {
	all, err := rooms.ListRooms(ctx, c.b.Registry, s, mine)
	if err != nil {
		return nil, err
	}
	if name != "" {
		i := slices.IndexFunc(all, func(a rooms.About) bool { return a.Room == name })
		if i < 0 {
			return nil, fmt.Errorf("room %q: %w", name, rooms.ErrNoRoom)
		}
		return all[i], nil
	}
	short := make([]roomRow, len(all))
	for i, a := range all {
		short[i] = roomRow{a.Room, a.Count, shortNames(a.Members), a.Alive, a.Mine, a.Asked, a.Kind == "invite_only", a.Last, a.Error}
	}
	return listing(c, short, 0, "rooms were left out: the command c2c rooms list shows all.", nil, "")
}

// roomRow is a room in a list.
type roomRow struct {
	Room    string     `json:"room_id"`
	Count   int        `json:"member_count"`
	Members shortNames `json:"members"`
	Alive   int        `json:"alive_member_count"`
	Mine    bool       `json:"member,omitempty"` // the calling session is in the room
	Asked   bool       `json:"asked,omitempty"`
	Private bool       `json:"private,omitempty"`
	Last    float64    `json:"last_post_ts,omitempty"`
	Error   string     `json:"error,omitempty"`
}

// maxNews bounds the new posts of rooms in an answer of poll_inbox, in bytes.
const maxNews = 3 << 10

// addNews adds the new posts of the session's rooms to an answer. When the answer is written, it
// records the posts as seen.
func addNews(c *toolCall, ctx context.Context, s sessions.Session, res *mcp.CallToolResult, room int) {
	if !s.Facts.InRooms {
		return
	}
	news, err := rooms.NewsFor(ctx, c.b.Registry, s, false)
	if err != nil { // the answer goes on without the posts
		c.logFailure(ctx, s.ID, toolPollInbox, err)
	}
	text := news.Text(min(maxNews, room))
	if text == "" && !news.OnlyGone() {
		return
	}
	OnWritten(ctx, func(err error) {
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), ackTime)
		defer cancel()
		if err := news.Seen(ctx); err != nil {
			c.logFailure(ctx, s.ID, toolPollInbox, err)
		}
	})
	res.Content = append(res.Content, mcp.NewTextContent(text))
}
