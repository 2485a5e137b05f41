package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/rooms"
	"c2c/sessions"
)

// roomCall is one run of c2c rooms: it makes rooms, joins and leaves them, lists and shows them. To
// post to a room, people use c2c send.
type roomCall struct {
	*call
	st    rooms.Store
	words []string // the words after the verb below c2c rooms

	limit, old int  // the options --limit and --history
	private    bool // the option --private
}

// roomVerb is a verb below c2c rooms.
type roomVerb struct {
	name  string
	takes string // the words that it needs
	most  int    // the greatest number of words
	reads bool   // it works without a session
	do    func(*roomCall, context.Context, sessions.Session) error
}

const many = 1 << 10

var roomVerbs = [...]roomVerb{
	{"create", "ROOM", 1, false, (*roomCall).create},
	{"join", "ROOM", 1, false, (*roomCall).join},
	{"leave", "ROOM", 1, false, (*roomCall).leave},
	{"members", "ROOM", 1, true, (*roomCall).members},
	{"list", "", 0, true, (*roomCall).list},
	{"history", "ROOM", 1, true, (*roomCall).history},
	{"invite", "ROOM ALIAS ...", many, false, (*roomCall).invite},
	{"level", "ROOM LEVEL", 2, false, (*roomCall).level},
	{"archive", "ROOM", 1, false, (*roomCall).archive},
	{"send", "ROOM", many, false, (*roomCall).send},
}

// roomsVerb runs c2c rooms.
func roomsVerb(c *call, f *cli.Flags) action {
	r := &roomCall{call: c}
	f.BoolVar(&r.private, "private")
	limit, old := f.Int("limit"), f.Int("history")
	return func(ctx context.Context) error {
		words := c.words
		if len(words) == 0 {
			words = []string{"list"}
		}
		r.words, r.limit, r.old = words[1:], *limit, *old
		return r.run(ctx, words[0])
	}
}

// run runs a verb below c2c rooms.
func (c *roomCall) run(ctx context.Context, name string) error {
	i := slices.IndexFunc(roomVerbs[:], func(v roomVerb) bool { return v.name == name })
	if i < 0 {
		return fmt.Errorf("%w: rooms has no verb %q", errUsage, name)
	}
	verb := roomVerbs[i]
	takes := strings.Fields(strings.TrimSuffix(verb.takes, " ..."))
	if len(c.words) > 0 {
		c.words[0] = strings.TrimPrefix(c.words[0], "#")
	}
	as := strings.TrimSpace(name + " " + verb.takes)
	usage := func(problem string) error {
		err := fmt.Errorf("%w: %s c2c rooms %s", errUsage, problem, as)
		sample := strings.NewReplacer("ROOM", "review", "ALIAS ...", "birch", "LEVEL", "quiet")
		return cli.WithHint(err, "such as: c2c rooms "+sample.Replace(as)+"; c2c help rooms shows how")
	}
	switch {
	case len(c.words) < len(takes):
		return usage("which " + strings.ToLower(takes[len(c.words)]) + "?")
	case len(c.words) > verb.most:
		return usage(fmt.Sprintf("unexpected %q:", c.words[verb.most]))
	case c.limit < 0 || c.old < 0:
		return fmt.Errorf("%w: a number of posts is 0 or more", errUsage)
	}
	if len(takes) > 0 {
		if err := rooms.CheckName(c.words[0]); err != nil {
			return usage(err.Error() + ":")
		}
	}
	c.st = rooms.StoreOf(c.b.Registry)
	s, err := c.attach(ctx)
	if err != nil && !(verb.reads && errors.Is(err, sessions.ErrNoCaller)) {
		return err
	}
	err = verb.do(c, ctx, s)
	if errors.Is(err, rooms.ErrNoRoom) && name == "invite" {
		last := len(c.words) - 1
		room := strings.TrimPrefix(c.words[last], "#")
		if names, _ := c.st.Names(); slices.Contains(names, room) {
			return cli.WithHint(err, fmt.Sprintf("the room stands first: c2c rooms invite %s %s", room, strings.Join(c.words[:last], " ")))
		}
	}
	return cli.WithHint(err, rooms.HintFor(err, strings.Join(c.words[:min(1, len(c.words))], "")))
}

// openRoom opens the room that the first word names. The caller must close the room.
func (c *roomCall) openRoom() (*rooms.Room, error) { return c.st.Open(c.words[0]) }

func (c *roomCall) create(ctx context.Context, s sessions.Session) error {
	r, err := c.st.Create(ctx, c.words[0], s.Alias, c.private)
	if err != nil {
		return err
	}
	r.Close()
	return c.join(ctx, s)
}

// joined is the answer of join.
type joined struct {
	Room    string            `json:"room_id"`
	Members []string          `json:"members"`
	History []json.RawMessage `json:"history"`
}

func (c *roomCall) join(ctx context.Context, s sessions.Session) error {
	already, err := rooms.Join(ctx, c.b, s, c.words[0], false)
	if err != nil {
		return err
	}
	r, err := c.openRoom()
	if err != nil {
		return err
	}
	defer r.Close()
	about, err := c.about(ctx, r, s)
	if err != nil {
		return err
	}
	var old []rooms.Post
	if c.old > 0 {
		if old, err = r.Last(c.old, nil); err != nil {
			return err
		}
	}
	return c.show(joined{r.Name, about.Members, rooms.OldPosts(old)}, func() {
		if _, host := rooms.HostOf(r.Name); host != "" && !already {
			c.printf("asked %s to let %s into %s: c2c rooms members %[3]s shows when %[2]s is in; your posts until then follow\n", host, s.Alias, r.Name)
			return
		}
		does := "joined"
		if already {
			does = "already in"
		}
		c.printf("%s %s as %s; members: %s\n", does, r.Name, s.Alias, strings.Join(about.Members, ", "))
		if s.State != sessions.Person {
			c.printf("a post that names you wakes you; all else comes in one digest with your next turn\n")
		}
		if len(old) > 0 {
			c.printf("old posts, from before you joined: nobody waits for an answer\n")
			c.printPosts(s, r.Name, old)
		}
	})
}

func (c *roomCall) about(ctx context.Context, r *rooms.Room, s sessions.Session) (rooms.About, error) {
	rows, err := c.b.Rows(ctx)
	if err != nil {
		return rooms.About{}, err
	}
	return rooms.DescribeRoom(c.b.Registry, rows, r, s)
}

func (c *roomCall) leave(ctx context.Context, s sessions.Session) error {
	does := "left"
	if errors.Is(c.isMember(s), rooms.ErrNotMember) {
		does = s.Alias + " was not in"
	}
	if err := rooms.Leave(ctx, c.b, s, c.words[0]); err != nil { // a session that was not in may have asked to join
		return err
	}
	return c.show(map[string]any{"room_id": c.words[0], "alias": s.Alias, "left": does == "left"}, func() { c.printf("%s %s\n", does, c.words[0]) })
}

func (c *roomCall) members(ctx context.Context, s sessions.Session) error {
	r, err := c.openRoom()
	if err != nil {
		return err
	}
	defer r.Close()
	about, err := c.about(ctx, r, s)
	if err != nil {
		return err
	}
	return c.show(about.Details, func() {
		for _, m := range about.Details {
			c.printf("%s  %s  %s\n", m.Alias, cmp.Or(string(m.Level), "-"), string(m.State))
		}
	})
}

func (c *roomCall) list(ctx context.Context, s sessions.Session) error {
	all, err := rooms.ListRooms(ctx, c.b.Registry, s, false)
	if err != nil {
		return err
	}
	return c.show(all, func() {
		if len(all) == 0 {
			c.printf("(no rooms; c2c rooms create NAME makes one)\n")
		}
		wide := 0
		for _, a := range all {
			wide = max(wide, len(a.Room))
		}
		for _, a := range all {
			line := fmt.Sprintf("%-*s  %-10s", wide, a.Room, format.Count(a.Count, "member", "members"))
			if a.Dead > 0 {
				line += fmt.Sprintf(" (%d ended)", a.Dead)
			}
			if a.Last > 0 {
				line += "  last post " + format.Age(c.b.Now().Sub(mail.FromSeconds(a.Last))) + " ago"
			}
			if a.Kind != "public" {
				line += "  private"
			}
			switch {
			case a.Mine:
				line += "  you are in it"
			case a.Asked:
				line += "  you have asked to join"
			}
			c.printf("%s\n", strings.TrimRight(line+"  "+a.Error, " "))
		}
	})
}

func (c *roomCall) history(ctx context.Context, s sessions.Session) error {
	r, err := c.openRoom()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := rooms.MayRead(r, s); err != nil {
		return err
	}
	posts, err := r.Last(c.limit, nil)
	if err != nil {
		return err
	}
	return c.show(rooms.PostsJSON(posts), func() {
		if len(posts) == 0 {
			c.printf("(no posts)\n")
		}
		c.printPosts(s, r.Name, posts)
	})
}

// printPosts prints posts, oldest first. It prints them in envelopes for an agent.
func (c *roomCall) printPosts(s sessions.Session, room string, posts []rooms.Post) {
	if s.State != sessions.Person && len(posts) > 0 {
		fmt.Fprintln(c.stdout, mail.Preface(roomMessages(posts, room)))
	}
	for _, p := range posts {
		if s.State != sessions.Person {
			fmt.Fprintln(c.stdout, roomMessages([]rooms.Post{p}, room)[0].EnvelopeAt(time.Now()))
			continue
		}
		c.printf("%s %s\n", format.Clock(p.Time(), time.Now()), p.Author())
		for line := range strings.Lines(p.Content) {
			c.printf("    %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
}

func roomMessages(posts []rooms.Post, room string) (all []mail.Message) {
	for _, p := range posts {
		all = append(all, p.In(room))
	}
	return all
}

// invite invites the sessions one after the other. If one fails, the sessions before it stay
// members.
func (c *roomCall) invite(ctx context.Context, s sessions.Session) error {
	for _, alias := range c.words[1:] {
		r, in, err := rooms.Invite(ctx, c.b, s, c.words[0], alias)
		if err != nil {
			return err
		}
		err = c.show(map[string]any{"ok": true, "room_id": c.words[0], "invitee_alias": r.To, "message_id": r.ID, "member": in}, func() {
			says := "%s is in %s now: posts that name it reach it\n"
			switch {
			case !in:
				says = "invited %s to %s: it gets a message\n"
			case r.ID == "":
				says = "%s is in %s already\n"
			}
			c.printf(says, r.To, c.words[0])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *roomCall) level(ctx context.Context, s sessions.Session) error {
	if !slices.Contains(rooms.Levels(), c.words[1]) {
		return fmt.Errorf("%w: level %q: want %s", cli.ErrUsage, c.words[1], strings.Join(rooms.Levels(), ", "))
	}
	r, err := c.openRoom()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.SetLevel(ctx, s.ID, rooms.Level(c.words[1])); err != nil {
		return err
	}
	return c.show(map[string]any{"ok": true, "room_id": r.Name, "level": c.words[1]}, func() { c.printf("%s is %s now\n", r.Name, c.words[1]) })
}

func (c *roomCall) isMember(s sessions.Session) error {
	r, err := c.openRoom()
	if err == nil {
		defer r.Close()
		err = rooms.IsMember(r, s)
	}
	if errors.Is(err, rooms.ErrNotMember) { // leave does not print these words
		err = fmt.Errorf("%w; only a member, or a person at a terminal, may archive it", err)
	}
	return err
}

func (c *roomCall) archive(ctx context.Context, s sessions.Session) error {
	if err := c.isMember(s); err != nil && !s.IsProvenPerson() {
		return err
	}
	path, err := rooms.ArchiveRoom(ctx, c.b, c.words[0])
	if err != nil {
		return err
	}
	c.b.Events.Record(ctx, "room_archive", "room_id", c.words[0], "alias", s.Alias)
	return c.show(map[string]any{"ok": true, "room_id": c.words[0], "path": path}, func() { c.printf("archived %s: its files are in %s\n", c.words[0], path) })
}

// send posts to a room, as c2c send does.
func (c *roomCall) send(ctx context.Context, s sessions.Session) error {
	text, err := cli.Body(c.stdin, "", c.words[1:])
	if err != nil {
		return err
	}
	r, err := rooms.Publish(ctx, c.b, s, rooms.Draft{Room: c.words[0], Message: mail.Message{Content: text}, Limit: rooms.LimitOf(c.getenv)})
	if err != nil {
		return err
	}
	return c.showPosted(r)
}
