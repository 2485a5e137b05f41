package rooms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// News has the posts that are new to a session, in all of its rooms.
type News struct {
	Rooms []RoomNews // rooms with new posts; the one whose posts have waited longest is the first

	st     Store
	sid    string
	looked time.Time // the time at which the method Store.News has looked
	moved  []moved
	left   []string // rooms for which Text had no space
}

// RoomNews has the new posts of one room.
type RoomNews struct {
	Room  string
	Posts []Post // newest first; at most maxNews of the Count posts
	Count int
	More  bool // there are perhaps more new posts: News has not read all of the history

	since float64 // the time of the oldest of them
}

// moved is a change of the session's place in a room.
type moved struct {
	room string
	read int64 // the new place
	anew bool  // the session has read further: a new history has replaced that one
	left bool  // the session is not in the room any more
}

// A post that names the session normally comes as a message. After underWay without that message,
// its author was killed between the two steps, and News shows the post. A younger post waits, with
// all posts after it, because it would come twice.
const underWay = time.Minute

// maxNews is the number of posts of a room that News returns.
const maxNews = 50

// News finds the posts that are new to a session. It leaves out the session's own posts, posts that
// the session got as messages, rooms that the session has muted, and with onlyOpen those in which
// its level is not Open. The function had reports whether the session got the post with this id as
// a message; News calls it only for posts that name the session. The method Seen then records that
// the session has seen the posts.
func (st Store) News(sid string, onlyOpen bool, had func(id string) bool) (News, error) {
	n := News{st: st, sid: sid, looked: st.Now()}
	all, err := st.places(sid)
	if err != nil {
		return n, err
	}
	var errs []error
	for _, p := range all {
		if err := n.look(p, onlyOpen, had); err != nil { // after an error, go on with the other rooms
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

func (n *News) look(p place, onlyOpen bool, had func(id string) bool) error {
	r, err := n.st.Open(p.Room)
	switch {
	case errors.Is(err, ErrNoRoom):
		n.moved = append(n.moved, moved{room: p.Room, left: true})
		return nil
	case err != nil:
		return err
	}
	defer r.Close()
	h, err := r.history()
	if err != nil {
		return err
	}
	defer h.Close()
	if h.size == p.Read {
		return nil
	}
	rows, err := r.rows()
	if err != nil {
		return err
	}
	if sessions.FindSID(rows, n.sid) < 0 { // a kill came before the session had left, or its place is that of an archived room
		n.moved = append(n.moved, moved{room: p.Room, left: true})
		return nil
	}
	own, _ := r.own()
	level := own.level(n.sid)
	if level == Muted || onlyOpen && level != Open {
		return nil
	}
	end, err := h.end()
	if err != nil {
		return err
	}
	anew := p.Read > end
	if anew {
		p.Read = end
	}
	from := max(p.Read, end-maxRead)
	empty := RoomNews{Room: p.Room, More: from > p.Read}
	news := empty
	_, err = h.posts(from, end, func(post Post) bool {
		named := slices.Contains(post.To, n.sid)
		if post.Session == n.sid || named && had(post.ID) {
			return true
		}
		if age := n.looked.Sub(post.Time()); named && age.Abs() < underWay { // it comes as a message at any moment: end before it
			news, end = empty, post.start
			return true
		}
		news.since = post.TS
		if news.Count++; len(news.Posts) < maxNews {
			news.Posts = append(news.Posts, post)
		}
		return true
	})
	n.moved = append(n.moved, moved{room: p.Room, read: end, anew: anew})
	if news.Count > 0 {
		n.add(news)
	}
	return err
}

// add keeps the rooms in order: a room for which the digest had no space comes before rooms with
// newer posts the next time.
func (n *News) add(news RoomNews) {
	i := len(n.Rooms)
	n.Rooms = append(n.Rooms, news)
	for ; i > 0 && n.Rooms[i-1].since > news.since; i-- {
		n.Rooms[i] = n.Rooms[i-1]
	}
	n.Rooms[i] = news
}

// Until returns the news of one room. The result's method Seen records only posts of this room up
// to place, and which rooms are gone.
func (n News) Until(room string, place int64) News {
	n.Rooms = slices.DeleteFunc(slices.Clone(n.Rooms), func(r RoomNews) bool { return r.Room != room })
	n.moved = slices.DeleteFunc(slices.Clone(n.moved), func(m moved) bool { return m.room != room && !m.left })
	for i := range n.moved {
		n.moved[i].read = min(n.moved[i].read, place)
	}
	return n
}

// Seen records that the session has seen the posts that News found. It never moves a place back,
// unless a new history has replaced the old one.
func (n News) Seen(ctx context.Context) error {
	if n.st.Root == nil {
		return nil
	}
	all, err := n.st.places(n.sid)
	if err != nil {
		return err
	}
	if edited := n.edit(all); !slices.Equal(edited, all) {
		return n.st.changePlaces(ctx, n.sid, n.edit)
	}
	return nil
}

func (n News) edit(all []place) []place {
	all = slices.Clone(all)
	for _, m := range n.moved {
		i := slices.IndexFunc(all, func(p place) bool { return p.Room == m.room })
		switch {
		case i < 0, slices.Contains(n.left, m.room):
		case m.left:
			if !n.hasJoined(m.room) {
				all = slices.Delete(all, i, i+1)
			}
		default:
			if m.read > all[i].Read || m.anew {
				all[i].Read = m.read
			}
		}
	}
	return all
}

// OnlyGone reports whether News found no posts, but found that some rooms are gone.
func (n News) OnlyGone() bool {
	return len(n.Rooms) == 0 && slices.ContainsFunc(n.moved, func(m moved) bool { return m.left })
}

// hasJoined reports whether the session is in a room. It may have joined since News looked.
func (n News) hasJoined(name string) bool {
	r, err := n.st.Open(name)
	if err != nil {
		return !errors.Is(err, ErrNoRoom)
	}
	defer r.Close()
	rows, err := r.rows()
	return err != nil || sessions.FindSID(rows, n.sid) >= 0
}

const (
	DigestSize = 2 << 10 // bounds the text about new posts that comes with other mail or with a prompt, in bytes
	words      = 280     // the number of characters of a post that the digest shows
	leastShare = 400     // the space for one room if there are many, in bytes: enough for a post. The other rooms come the next time
	// recent is the age up to which the digest shows a post without its time.
	recent = 10 * time.Minute

	digestHead = `<c2c event="rooms" from="others" authority="none">` + "\n"
	digestFoot = "</c2c>"
)

// Text returns the digest for a model, in at most limit bytes. It returns "" if nothing is new, or
// if there is no space. Seen then leaves the posts of a room new if there was no space for the
// room.
func (n *News) Text(limit int) string {
	text := ""
	limit -= len(digestHead + digestFoot)
	n.left = nil
	for i, room := range n.Rooms {
		part := room.text(n.sid, limit/(len(n.Rooms)-i), limit, n.st.Now().UTC())
		if part == "" {
			n.left = append(n.left, room.Room)
			continue
		}
		limit -= len(part)
		text += part
	}
	if text == "" {
		return ""
	}
	return digestHead + text + digestFoot
}

// text returns the part of the digest for one room, in at most limit bytes: a line for each of the
// newest posts, the oldest of them first. It fills no more than share bytes, or leastShare. It
// returns "" if there is no space.
func (r RoomNews) text(sid string, share, limit int, now time.Time) string {
	rest := fmt.Sprintf("#%s %%d more: look posts, or c2c rooms history %[1]s --limit %d\n", r.Room, min(r.Count, maxShown))
	space := min(max(share, leastShare), limit) - len(rest) - len("1000000")
	if space < 0 {
		return ""
	}
	body, shown := "", 0
	for _, p := range r.Posts {
		head := p.Author()
		if now.Sub(p.Time()) > recent {
			head = p.Head(now)
		}
		head = strings.Replace(head, " ("+mail.ByClaim+")", "?", 1) // the most frequent word is short
		if slices.Contains(p.To, sid) {
			head += " (names you)"
		}
		line := "#" + r.Room + " " + head + ": " + p.Message().FirstWords(words) + "\n"
		if len(body)+len(line) > space {
			break
		}
		body = line + body
		shown++
	}
	if left := r.Count - shown; left > 0 || r.More {
		body = fmt.Sprintf(rest, left) + body
	}
	return body
}

// Line returns the post as one line, with at most limit characters of its text.
func (p Post) Line(limit int, now time.Time) string {
	return p.Head(now) + ": " + p.Message().FirstWords(limit)
}

// Head returns the post's time, in the time zone of the argument now, and the result of Author.
func (p Post) Head(now time.Time) string {
	layout := "15:04Z07:00"
	if now.Sub(p.Time()) > 12*time.Hour {
		layout = "2006-01-02T15:04Z07:00"
	}
	return p.Time().In(now.Location()).Format(layout) + " " + p.Author()
}

// Author returns the post's author and id. If the post is for all members, the reason follows.
func (p Post) Author() string {
	line := mail.SafeAlias(p.From)
	if by := mail.By(p.Message()); by != "" && by != mail.ByProcess {
		line += " (" + by + ")"
	}
	if p.ID != "" {
		line += " " + mail.ShortID(p.ID)
	}
	if p.Reason != "" {
		line += " (to all: " + mail.Message{Content: p.Reason}.FirstWords(80) + ")"
	}
	return line
}
