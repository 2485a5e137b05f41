package page

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
)

type roomList struct{ Rooms []roomView }

type postList struct {
	Posts []postView `json:"mails"`
	More  bool
	Older int64
	End   int64
	Note  string
}

func (p postList) String() string {
	var lines []string
	for _, one := range p.Posts {
		line := one.From + ": " + one.Text
		if one.Old {
			line += " (old)"
		}
		if one.New {
			line += " (new)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

func (l *lab) join(room string, all ...sessions.Session) {
	l.t.Helper()
	for _, s := range all {
		if _, err := rooms.Join(l.t.Context(), l.b, s, room, true); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) post(from sessions.Session, room, text string) rooms.Receipt {
	l.t.Helper()
	r, err := rooms.Publish(l.t.Context(), l.b, from, rooms.Draft{Room: room, Message: mail.Message{Content: text}})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// append adds a line to a history that no c2c has written.
func (l *lab) append(room, line string) {
	l.t.Helper()
	f, err := os.OpenFile(filepath.Join(l.b.Root(), "rooms", room, "history.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		f.Close()
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func room(tab *tab, name string) postList {
	return get[postList](tab, "GET", "/api/room?name="+url.QueryEscape(name), nil)
}

func (tab *tab) wantRoom(name, want string) {
	tab.l.t.Helper()
	all := get[roomList](tab, "GET", "/api/rooms", nil)
	got := "none"
	for _, r := range all.Rooms {
		if r.Name == name {
			got = fmt.Sprintf("%d members, %d new, mine %v, private %v, %s", len(r.Members), r.New, r.Mine, r.Private, r.Level)
		}
	}
	if got != want {
		tab.l.t.Errorf("%s: %s, want %s", name, got, want)
	}
}

func TestThePersonJoinsReadsAndWritesInARoom(t *testing.T) {
	l := newLab(t)
	tab := l.loggedIn()
	if all := get[roomList](tab, "GET", "/api/rooms", nil); len(all.Rooms) != 0 {
		t.Errorf("%+v", all)
	}
	e := tab.live()
	until(e, "now", always[now])
	l.join("review", l.amber, l.birch)
	l.post(l.amber, "review", "before")
	until(e, "change", func(c change) bool { return len(c.Rooms) == 1 && c.Rooms[0] == "review" })
	tab.wantRoom("review", "2 members, 0 new, mine false, private false, ")
	if got := room(tab, "review"); got.String() != "amber: before" || got.More {
		t.Errorf("%s", got)
	}
	draft := map[string]any{"id": someID + "1", "room": "review", "text": "I look at it, @birch."}
	if status, body := tab.do("POST", "/api/rooms/post", draft); status != http.StatusForbidden {
		t.Errorf("a post of no member: %d %s", status, body)
	}
	do := func(what string) {
		get[map[string]string](tab, "POST", "/api/rooms/member", map[string]string{"room": "review", "do": what})
	}
	do("join")
	l.post(l.amber, "review", "after")
	asks := l.post(l.birch, "review", "what do you think, @dana?")
	tab.wantRoom("review", "3 members, 1 new, mine true, private false, quiet") // the other one is a message
	got := room(tab, "review")
	if want := "birch: what do you think, @dana?, amber: after (new), amber: before (old)"; got.String() != want {
		t.Errorf("%s, want %s", got, want)
	}
	get[struct{}](tab, "POST", "/api/rooms/seen", map[string]any{"room": "review", "place": got.End})
	tab.wantRoom("review", "3 members, 0 new, mine true, private false, quiet")

	const cost = "stored for 2, wakes 0, waits for the next turn of 1 (birch)"
	if r := get[receipt](tab, "POST", "/api/rooms/cost", draft); r.Note != cost || r.To != "#review" {
		t.Errorf("%+v", r)
	}
	if r := get[receipt](tab, "POST", "/api/rooms/post", draft); !strings.HasPrefix(r.Note, cost) || r.To != "#review" || r.Again {
		t.Errorf("%+v", r)
	}
	if r := get[receipt](tab, "POST", "/api/rooms/post", draft); !r.Again {
		t.Errorf("sent again it is another post: %+v", r)
	}
	all := map[string]any{"id": someID + "2", "room": "review", "text": "All of you.", "wake": true, "answers": asks.ID}
	if r := get[receipt](tab, "POST", "/api/rooms/post", all); !strings.HasPrefix(r.Note, "stored for 2, wakes 0, waits for the next turn of 2 (amber, birch)") && !strings.HasPrefix(r.Note, "stored for 2, wakes 0, waits for the next turn of 2 (birch, amber)") {
		t.Errorf("%+v", r)
	}
	box, err := l.b.Mailbox(l.me.ID)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := box.Peek(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("what was answered still waits: %+v, %v", left, err)
	}
	if got := room(tab, "review"); len(got.Posts) != 5 || got.Posts[0].Answers != asks.ID || got.Posts[0].From != "dana" || !got.Posts[0].Person || got.Posts[1].Text != "I look at it, @birch." {
		t.Errorf("%+v", got.Posts)
	}
	do("muted")
	l.post(l.amber, "review", "not this")
	tab.wantRoom("review", "3 members, 0 new, mine true, private false, muted")
	do("leave")
	tab.wantRoom("review", "2 members, 0 new, mine false, private false, ")
}

func TestARoomIsReadInParts(t *testing.T) {
	l := newLab(t)
	l.join("review", l.amber)
	for i := range maxPosts + 2 {
		l.post(l.amber, "review", fmt.Sprint("number ", i))
	}
	tab := l.loggedIn()
	first := room(tab, "review")
	if len(first.Posts) != maxPosts || !first.More || first.Posts[0].Text != fmt.Sprint("number ", maxPosts+1) {
		t.Fatalf("%s", first)
	}
	l.post(l.amber, "review", "one more")
	rest := get[postList](tab, "GET", fmt.Sprint("/api/room?name=review&before=", first.Older), nil)
	if rest.String() != "amber: number 1, amber: number 0" || rest.More {
		t.Errorf("%s", rest)
	}
	for _, before := range []string{"x", "-1", "0", "1e9", "99999999999999999999"} {
		if status, body := tab.do("GET", "/api/room?name=review&before="+before, nil); status != http.StatusBadRequest {
			t.Errorf("before %s: %d %s", before, status, body)
		}
	}
}

func TestAPrivateRoomIsForItsMembers(t *testing.T) {
	l := newLab(t)
	r, err := rooms.StoreOf(l.b.Registry).Create(t.Context(), "board", "amber", true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l.join("board", l.amber)
	l.post(l.amber, "board", "between us")
	tab := l.loggedIn()
	tab.wantRoom("board", "1 members, 0 new, mine false, private true, ")
	post := map[string]string{"id": someID + "1", "room": "board", "text": "hello"}
	for what, ask := range map[string]func() (int, string){
		"read": func() (int, string) { return tab.do("GET", "/api/room?name=board", nil) },
		"post": func() (int, string) { return tab.do("POST", "/api/rooms/post", post) },
		"cost": func() (int, string) { return tab.do("POST", "/api/rooms/cost", post) },
		"join": func() (int, string) {
			return tab.do("POST", "/api/rooms/member", map[string]string{"room": "board", "do": "join"})
		},
		"level": func() (int, string) {
			return tab.do("POST", "/api/rooms/member", map[string]string{"room": "board", "do": "open"})
		},
	} {
		if status, body := ask(); status != http.StatusForbidden || strings.Contains(body, "between") {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	if all := get[listing](tab, "GET", "/api/search?q=between", nil); len(all.Mails) != 0 {
		t.Errorf("%+v", all)
	}
	if err := r.Invite(t.Context(), "dana"); err != nil {
		t.Fatal(err)
	}
	l.join("board", l.me)
	if got := room(tab, "board"); got.String() != "amber: between us (old)" {
		t.Errorf("%s", got)
	}
	if all := get[listing](tab, "GET", "/api/search?q=between", nil); len(all.Mails) != 1 || all.Mails[0].Room != "board" {
		t.Errorf("%+v", all)
	}
}

func TestARoomWithHostileFilesIsShownAsText(t *testing.T) {
	l := newLab(t)
	l.join("review", l.amber, l.me)
	l.join("tests", l.amber, l.me)
	tab := l.loggedIn()
	l.append("review", "no post")
	l.append("review", `{"ts":1,"from_alias":"<img src=x>\u001b[2J","content":"<script>alert(1)</script>\u202e\u001b]0;x\u0007","reason":"\u001b[31m<b>","message_id":"../../x"}`)
	l.append("review", `{"ts":2,"from_alias":"amber","content":"`+strings.Repeat("x", rooms.MaxPost+9)+`"}`)
	l.append("review", `{"ts":3,"from_alias":"amber","content":"half a li`)
	got := room(tab, "review")
	if len(got.Posts) != 2 || got.Posts[0].Cut != 0 || !strings.HasSuffix(got.Posts[0].Text, fmt.Sprintf("(cut: it has %d bytes)", rooms.MaxPost+9)) {
		t.Fatalf("%.300s", got)
	}
	if p := got.Posts[1]; p.From != "(unknown)" || p.Text != `<script>alert(1)</script>\u202e\u001b]0;x\u0007` || p.Reason != `\u001b[31m<b>` || p.ID != "" {
		t.Errorf("%+v", p)
	}
	for _, name := range []string{"", "../review", "%2e%2e", "a/b", "<b>", "none", "x\x00y", strings.Repeat("x", 100)} {
		if status, body := tab.do("GET", "/api/room?name="+url.QueryEscape(name), nil); status < 400 || status >= 500 {
			t.Errorf("%q: %d %s", name, status, body)
		}
		if status, body := tab.do("POST", "/api/rooms/member", map[string]string{"room": name, "do": "join"}); status < 400 || status >= 500 {
			t.Errorf("join %q: %d %s", name, status, body)
		}
	}
	if status, _ := tab.do("POST", "/api/rooms/member", map[string]string{"room": "review", "do": "fly"}); status != http.StatusBadRequest {
		t.Errorf("%d", status)
	}
	// Damage to one room hides no other one.
	dir := filepath.Join(l.b.Root(), "rooms", "review")
	for _, name := range []string{"members.json", "meta.json", "c2c.json", "history.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.post(l.amber, "tests", "still here")
	tab.wantRoom("tests", "2 members, 1 new, mine true, private false, quiet")
	tab.wantRoom("review", "0 members, 0 new, mine false, private true, ") // nobody knows who may read it
	if status, body := tab.do("GET", "/api/room?name=review", nil); status < 400 || !strings.Contains(body, "who may join") {
		t.Errorf("%d %s", status, body)
	}
}

// Each route of rooms is closed to those to whom the other routes are.
func TestRoomsAskForTheLogin(t *testing.T) {
	l := newLab(t)
	l.join("review", l.amber, l.me)
	in := l.loggedIn()
	post := map[string]any{"id": someID + "1", "room": "review", "text": "hello", "do": "leave"}
	for _, path := range []string{"GET /api/rooms", "GET /api/room?name=review", "POST /api/rooms/post", "POST /api/rooms/cost", "POST /api/rooms/seen", "POST /api/rooms/member"} {
		method, path, _ := strings.Cut(path, " ")
		var body any
		if method == "POST" {
			body = post
		}
		if status, _ := l.tab().do(method, path, body); status != http.StatusUnauthorized {
			t.Errorf("%s without a login: %d", path, status)
		}
		noKey := l.tab()
		noKey.cookies = in.cookies
		if status, _ := noKey.do(method, path, body); status != http.StatusUnauthorized {
			t.Errorf("%s without the key of a tab: %d", path, status)
		}
		other := l.tab()
		other.cookies, other.key = in.cookies, in.key
		other.header.Set("Origin", "http://evil.example")
		if status, _ := other.do(method, path, body); status != http.StatusForbidden {
			t.Errorf("%s from another site: %d", path, status)
		}
	}
	in.wantRoom("review", "2 members, 0 new, mine true, private false, quiet")
}
