package page

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/serve/live"
	"c2c/sessions"
)

// roomView is a room as the page lists it.
type roomView struct {
	Name    string       `json:"name"`
	Members []memberView `json:"members"`
	Private bool         `json:"private,omitempty"`
	Mine    bool         `json:"mine,omitempty"`  // the person is a member
	Asked   bool         `json:"asked,omitempty"` // the person has asked another machine to make them a member
	Level   rooms.Level  `json:"level,omitempty"` // which posts the person wants to see
	New     int          `json:"new,omitempty"`   // posts that the person has not seen
	More    bool         `json:"more,omitempty"`  // there are more new posts than New says
	Last    float64      `json:"last,omitempty"`  // when the newest post was made, in seconds
	Error   string       `json:"error,omitempty"` // why a part of the room could not be read
}

type memberView struct {
	Alias string      `json:"alias"`
	Level rooms.Level `json:"level"`
}

// postView is a post as the page shows it.
type postView struct {
	mailView
	Old    bool   `json:"old,omitempty"`    // the post is from before the person joined
	New    bool   `json:"new,omitempty"`    // the person has not seen the post
	Reason string `json:"reason,omitempty"` // why the post wakes all members
}

// reader returns the person's session. If the person has none yet, the result is a stand-in that
// may read only what everybody may read.
func (c *call) reader() sessions.Session {
	me, err := c.me()
	if err != nil {
		return sessions.Session{ID: sessions.PersonPrefix + "none", State: sessions.Person, KnownBy: mail.ByPerson}
	}
	return me
}

// rooms lists the rooms, with the number of posts that are new to the person.
func (p *Page) rooms(c *call) (any, error) {
	me := c.reader()
	all, err := rooms.ListRooms(c, c.b().Registry, me, false)
	if err != nil {
		return nil, err
	}
	news, nerr := rooms.NewsFor(c, c.b().Registry, me, false)
	list := struct {
		Rooms []roomView `json:"rooms"`
		Note  string     `json:"note,omitempty"`
	}{Rooms: []roomView{}}
	if nerr != nil {
		list.Note = visible(nerr.Error())
	}
	for _, a := range all {
		one := roomView{Name: visible(a.Room), Members: []memberView{}, Private: a.Kind != "public", Mine: a.Mine, Asked: a.Asked, Last: a.Last, Error: visible(a.Error)}
		for _, m := range a.Details {
			one.Members = append(one.Members, memberView{visible(m.Alias), m.Level})
			if m.SID == me.ID {
				one.Level = m.Level
			}
		}
		if i := slices.IndexFunc(news.Rooms, func(n rooms.RoomNews) bool { return n.Room == a.Room }); i >= 0 {
			one.New, one.More = news.Rooms[i].Count, news.Rooms[i].More
		}
		list.Rooms = append(list.Rooms, one)
	}
	return list, nil
}

// maxPosts bounds the posts of a room in one answer.
const maxPosts = 50

// room returns the newest posts of a room, newest first. If the URL has the parameter before, it
// returns the posts before that place in the history.
func (p *Page) room(c *call) (any, error) {
	q := c.r.URL.Query()
	place := int64(0)
	if text := q.Get("before"); text != "" {
		var err error
		if place, err = strconv.ParseInt(text, 10, 64); err != nil || place < 1 {
			return nil, wrong("before: want a place in the history")
		}
	}
	me := c.reader()
	r, err := rooms.StoreOf(c.b().Registry).Open(q.Get("name"))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := rooms.MayRead(r, me); err != nil {
		return nil, err
	}
	part, err := rooms.PartBefore(r, place, maxPosts)
	if err != nil {
		return nil, err
	}
	isOld, isNew, err := c.marks(r, me)
	list := struct {
		Posts []postView `json:"mails"`
		More  bool       `json:"more"`
		Older int64      `json:"older,omitempty"` // a request for the next older posts has this place in the parameter before
		End   int64      `json:"end"`             // the place after the newest of these posts
		Note  string     `json:"note,omitempty"`
	}{Posts: []postView{}, More: part.Older > 0, Older: part.Older, End: part.End}
	if err != nil {
		list.Note = visible(err.Error())
	}
	for _, post := range part.Posts {
		list.Posts = append(list.Posts, postView{postOf(post.In(r.Name)), isOld(post), isNew(post), visible(post.Reason)})
	}
	return list, nil
}

// marks returns two functions: isOld reports whether a post is from before the person joined, isNew
// whether the person has not seen it.
func (c *call) marks(r *rooms.Room, me sessions.Session) (isOld, isNew func(rooms.Post) bool, err error) {
	members, err := r.Members()
	i := slices.IndexFunc(members, func(m rooms.Member) bool { return m.SID == me.ID })
	isOld = func(post rooms.Post) bool { return i >= 0 && post.Time().Before(members[i].Joined) }
	news, nerr := rooms.NewsFor(c, c.b().Registry, me, false)
	unseen := map[string]bool{}
	for _, room := range news.Rooms {
		for _, post := range room.Posts {
			unseen[post.ID] = room.Room == r.Name
		}
	}
	return isOld, func(post rooms.Post) bool { return unseen[post.ID] }, errors.Join(err, nerr)
}

// postOf returns a view of a post. The page never requests the whole post again, so postOf cuts
// only a text that is too long for any post.
func postOf(m mail.Message) mailView {
	one := mailOf(m, rooms.MaxPost)
	if one.Cut > 0 {
		one.Text += fmt.Sprintf("\n… (cut: it has %d bytes)", one.Cut)
	}
	one.Cut, one.Key, one.State, one.Room = 0, keyOf(m.Fingerprint()), rooms.Posted, mail.RoomOf(m.To)
	return one
}

// seen handles POST /api/rooms/seen: it records that the person has seen a room up to a place in
// its history.
func (p *Page) seen(c *call) (any, error) {
	var asked struct {
		Room  string `json:"room"`
		Place int64  `json:"place"`
	}
	me, err := c.asks(&asked)
	if err != nil {
		return nil, err
	}
	news, err := rooms.NewsFor(c, c.b().Registry, me, false)
	if serr := news.Until(asked.Room, asked.Place).Seen(c); serr != nil {
		return nil, serr
	}
	return struct{}{}, err
}

// member lets the person join or leave a room, or sets the level at which the person sees its
// posts.
func (p *Page) member(c *call) (any, error) {
	var asked struct {
		Room string `json:"room"`
		Do   string `json:"do"` // join, leave, or a level
	}
	me, err := c.asks(&asked)
	if err != nil {
		return nil, err
	}
	note := ""
	switch {
	case asked.Do == "join":
		var already bool
		already, err = rooms.Join(c, c.b(), me, asked.Room, false)
		if _, host := rooms.HostOf(asked.Room); host != "" && !already {
			note = "asked " + host + " to let you in"
		}
	case asked.Do == "leave":
		err = rooms.Leave(c, c.b(), me, asked.Room)
	case slices.Contains(rooms.Levels(), asked.Do):
		var r *rooms.Room
		if r, err = rooms.StoreOf(c.b().Registry).Open(asked.Room); err == nil {
			err = r.SetLevel(c, me.ID, rooms.Level(asked.Do))
			r.Close()
		}
	default:
		err = wrong("do: want join, leave, %s", strings.Join(rooms.Levels(), ", "))
	}
	return map[string]string{"note": visible(note)}, err
}

// post posts to a room. If it answers a post that the person also has as a message, that message
// then counts as read.
func (p *Page) post(c *call) (any, error) {
	d, me, err := c.draft()
	if err != nil {
		return nil, err
	}
	r, err := rooms.Publish(c, c.b(), me, d.post())
	if err == nil && d.Answers != "" {
		if _, err := c.takeThose(me, func(m mail.Message) bool { return m.ID == d.Answers && mail.RoomOf(m.To) != "" }); err != nil {
			r.Note = fmt.Sprintf("the answered message could not be marked as read: %v", err)
		}
	}
	return receipt{ID: r.ID, To: "#" + r.Room, Note: visible(r.String()), Again: r.Duplicate}, err
}

// cost returns the receipt that a post would get, but posts nothing.
func (p *Page) cost(c *call) (any, error) {
	d, me, err := c.draft()
	if err != nil {
		return nil, err
	}
	r, err := rooms.Cost(c, c.b(), me, d.post())
	return receipt{To: "#" + r.Room, Note: visible(r.String())}, err
}

func (d draft) post() rooms.Draft {
	m := d.message()
	m.InReplyTo = d.Answers
	return rooms.Draft{Room: d.Room, Wake: d.Wake, Message: m}
}

// roomStatus returns the HTTP status of an error about a room; 0 for other errors.
func roomStatus(err error) int {
	switch {
	case errors.Is(err, rooms.ErrNoRoom):
		return http.StatusNotFound
	case errors.Is(err, rooms.ErrNotMember), errors.Is(err, rooms.ErrPrivate):
		return http.StatusForbidden
	}
	return 0
}

// roomsOf returns the names of the rooms that have new posts.
func roomsOf(events []live.Event) (names []string) {
	for _, e := range events {
		if name := mail.RoomOf(e.Message.To); e.What == live.Posted && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
