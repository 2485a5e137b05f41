package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
)

// RoomTools lists the tools for rooms, with the names of docs/compatibility.md. tools/list shows
// them only in a root with rooms, because their texts fill the context of each model. They can be
// called in any root. The tool send also posts to rooms.
func RoomTools() []Tool {
	room := func() argument { return str("room_id", "").must().filled() }
	return []Tool{
		entry("send_room", Writes, sendRoom,
			`Post to a room. It wakes only members whom it names (@alias, not in code), and the author of the in_reply_to post. Content "pass" posts nothing.`,
			room(), str("content", "Up to 64 KiB.").must().filled(),
			str("in_reply_to", ""),
			str("reason", "Why @all, shown to all."),
			str("alias", "").quiet(), str("tag", "").quiet(),
		),
		entry("room_history", Reads, roomHistory,
			"Show a room's posts, oldest first.",
			room(), limit(""),
			number("since", "").quiet(),
		),
		entry("list_rooms", Reads, listRooms,
			"List rooms, their members, and what each wants to see."),
		entry("join_room", Writes, joinRoom,
			"Join a room, or make it. Posts that name you wake you; the rest comes as a digest at your next turn.",
			room(),
			integer("history_limit", "How many old posts to show.", 0).atLeast(0).atMost(200),
			str("level", "").oneOf(rooms.Levels()),
			str("alias", "").quiet(),
		),
		entry("leave_room", Writes, leaveRoom,
			"Leave a room.",
			room(), str("alias", "").quiet(),
		),
		hidden(entry("my_rooms", Reads, myRooms, "")),
		hidden(entry("send_room_invite", Writes, inviteToRoom, "", room(), str("invitee_alias", "").must(), str("alias", "").quiet())),
	}
}

// hidden returns the tool t as one that can be called, but that no list shows.
func hidden(t Tool) Tool { t.hidden = true; return t }

// number is an argument with a number that may have a fraction, such as a time.
func number(name, description string) argument {
	return argument{name: name, shown: shown{Type: "number", Description: description}}
}

// showRooms removes the tools for rooms from a list, unless the root has rooms or
// rooms.JoinVariable names rooms to join.
func (t *Tools) showRooms(ctx context.Context, _ any, _ *mcp.ListToolsRequest, res *mcp.ListToolsResult) {
	roomTools := map[string]bool{} // tool name: whether a list may show it
	for _, tool := range RoomTools() {
		roomTools[tool.Name] = !tool.hidden
	}
	shown := t.hasRooms(ctx)
	res.Tools = slices.DeleteFunc(slices.Clone(res.Tools), func(tool mcp.Tool) bool {
		listed, isRoomTool := roomTools[tool.Name]
		return isRoomTool && !(shown && listed)
	})
}

func (t *Tools) hasRooms(ctx context.Context) bool {
	if t.peer(ctx).autoJoin() != "" {
		return true
	}
	root, _ := ctx.Value(rootKey{}).(string)
	if t.Cfg.Root != nil {
		root = t.Cfg.Root()
	}
	return root != "" && rooms.Exist(root)
}

type rootKey struct{} // context key of the root of a list

// WithRoot returns a context for a request that lists the tools, in a transport whose clients have
// several roots. The root need not exist; "": it is not known.
func WithRoot(ctx context.Context, root string) context.Context {
	return context.WithValue(ctx, rootKey{}, root)
}

// autoJoin returns the value of rooms.JoinVariable: the rooms that a session joins at its first
// call; "" for none.
func (p *Peer) autoJoin() string {
	if p.Client.Getenv == nil {
		return ""
	}
	return strings.TrimSpace(p.Client.Getenv(rooms.JoinVariable))
}

// joinRooms joins the rooms of a session, once for each session of the peer.
func (p *Peer) joinRooms(ctx context.Context, b *broker.Broker, s sessions.Session) {
	if _, done := p.inRooms.LoadOrStore(s.ID, true); done {
		return
	}
	if err := rooms.JoinAll(ctx, b, s, p.autoJoin()); err != nil {
		p.Warn("a room cannot be joined: " + err.Error())
	}
}

func roomID(c *toolCall) string { return strings.TrimPrefix(c.req.GetString("room_id", ""), "#") }

func wakesLimit(c *toolCall) int {
	if c.Client.Getenv == nil {
		return 0
	}
	return rooms.LimitOf(c.Client.Getenv)
}

func postToRoom(c *toolCall, ctx context.Context, d rooms.Draft) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	d.Limit = wakesLimit(c)
	return rooms.Publish(ctx, c.b, s, d)
}

func sendRoom(c *toolCall, ctx context.Context) (any, error) {
	return postToRoom(c, ctx, rooms.Draft{Room: roomID(c), Message: c.message(), Reason: c.req.GetString("reason", "")})
}

// openRoom opens a room that the session may read; the caller closes it.
func openRoom(c *toolCall, s sessions.Session) (*rooms.Room, error) {
	r, err := rooms.StoreOf(c.b.Registry).Open(roomID(c))
	if err != nil {
		return nil, err
	}
	if err := rooms.MayRead(r, s); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func roomHistory(c *toolCall, ctx context.Context) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	r, err := openRoom(c, s)
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

// joined is the answer of join_room.
type joined struct {
	Room    string            `json:"room_id"`
	Members []string          `json:"members"`
	History []json.RawMessage `json:"history"`
}

func joinRoom(c *toolCall, ctx context.Context) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := rooms.Join(ctx, c.b, s, roomID(c), true); err != nil {
		return nil, err
	}
	r, err := openRoom(c, s)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if level := c.req.GetString("level", ""); level != "" {
		if err := r.SetLevel(ctx, s.ID, rooms.Level(level)); err != nil {
			return nil, err
		}
	}
	var old []rooms.Post
	if n := c.req.GetInt("history_limit", 0); n > 0 {
		if old, err = r.Last(n, nil); err != nil {
			return nil, err
		}
	}
	members, err := membersOf(c, ctx, r, s)
	if err != nil {
		return nil, err
	}
	history := rooms.OldPosts(old)
	first := c.lastThatFit(len(history), func(i int) int { return 2 * len(history[i]) })
	return joined{r.Name, members, append([]json.RawMessage{}, history[first:]...)}, nil
}

func membersOf(c *toolCall, ctx context.Context, r *rooms.Room, s sessions.Session) ([]string, error) {
	rows, err := c.b.Rows(ctx)
	if err != nil {
		return nil, err
	}
	about, err := rooms.DescribeRoom(c.b.Registry, rows, r, s)
	return about.Members, err
}

func leaveRoom(c *toolCall, ctx context.Context) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	if err := rooms.Leave(ctx, c.b, s, roomID(c)); err != nil {
		return nil, err
	}
	r, err := rooms.StoreOf(c.b.Registry).Open(roomID(c))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	members, err := membersOf(c, ctx, r, s)
	return map[string]any{"room_id": r.Name, "members": members}, err
}

func listOf(c *toolCall, ctx context.Context, mine bool) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	all, err := rooms.ListRooms(ctx, c.b.Registry, s, mine)
	if err != nil {
		return nil, err
	}
	return listing(c, all, 0, "rooms were left out: the command c2c rooms list shows all.", nil, "")
}

func listRooms(c *toolCall, ctx context.Context) (any, error) { return listOf(c, ctx, false) }
func myRooms(c *toolCall, ctx context.Context) (any, error)   { return listOf(c, ctx, true) }

func inviteToRoom(c *toolCall, ctx context.Context) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	r, in, err := rooms.Invite(ctx, c.b, s, roomID(c), c.req.GetString("invitee_alias", ""))
	if err != nil {
		return nil, err
	}
	return map[string]any{"ok": true, "room_id": roomID(c), "invitee_alias": r.To, "member": in}, nil
}

// replyInRoom posts the answer to a message from a room. If the answered message is not from a
// room, isPost is false.
func replyInRoom(c *toolCall, ctx context.Context, s sessions.Session, answered, m mail.Message) (r any, isPost bool, err error) {
	if mail.RoomOf(answered.To) == "" {
		return nil, false, nil
	}
	r, err = rooms.ReplyToPost(ctx, c.b, s, answered, rooms.Draft{Message: m, Limit: wakesLimit(c)})
	return r, true, err
}

// maxNews bounds the new posts of rooms in an answer of poll_inbox, in bytes.
const maxNews = 3 << 10

// addNews adds the new posts of the session's rooms to an answer. When the answer is written, it
// records the posts as seen.
func addNews(c *toolCall, ctx context.Context, s sessions.Session, res *mcp.CallToolResult, room int) {
	w, ok := ctx.Value(WrittenKey{}).(*Written)
	if !s.Facts.InRooms || !ok {
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
	seen := func(werr error) {
		ctx, cancel := context.WithTimeout(context.Background(), ackTime)
		defer cancel()
		if werr == nil {
			if err := news.Seen(ctx); err != nil {
				c.logFailure(ctx, s.ID, toolPollInbox, err)
			}
		}
	}
	was := w.Done // acknowledges the mail in the same answer
	w.Done = func(werr error) {
		if was != nil {
			was(werr)
		}
		seen(werr)
	}
	res.Content = append(res.Content, mcp.NewTextContent(text))
}
