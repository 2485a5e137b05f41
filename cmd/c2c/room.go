package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/cmd/cli"
	"c2c/rooms"
	"c2c/sessions"
)

// room has the options of c2c send that count only for a post in a room.
type room struct {
	wake   bool
	reason string
}

func newRoom(f *cli.Flags) *room {
	r := new(room)
	f.BoolVar(&r.wake, "wake")
	f.TextVar(&r.reason, "reason")
	return r
}

// send posts to a room. If the post may wake somebody, c2cd makes the post, so that hooks do not load the code for such posts.
func (r *room) send(ctx context.Context, c *call, d *draft, alias, name string) error {
	words, m := c.words[1:], d.message
	if alias != "" || r.wake || r.reason != "" || d.file != "" || m.ID != "" || m.InReplyTo != "" || len(words) == 0 || words[0] == "-" ||
		slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "@") }) {
		return postByC2cd(c)
	}
	return d.send(ctx, c, words, func(ctx context.Context, from sessions.Session) error {
		receipt, done, err := rooms.Ambient(ctx, c.b.Registry, from, name, d.message)
		switch {
		case err == nil && !done, errors.Is(err, rooms.ErrNoRoom):
			return postByC2cd(c)
		case errors.Is(err, rooms.ErrNotMember):
			return cli.WithHint(err, "c2c rooms join "+name+" joins it; c2c rooms list shows all rooms")
		case err != nil:
			return err
		}
		return c.show(receipt, func() { c.printf("%s\n", receipt.String()) })
	})
}

// postByC2cd runs c2cd, which makes the post with the same arguments.
func postByC2cd(c *call, more ...string) error {
	return c.runC2cd(slices.Concat([]string{"post"}, more, c.args))
}

// maxNews bounds the text about new posts in rooms that c2c prints after the mail, in bytes.
const maxNews = 4 << 10

// showNews prints the new posts in the rooms of a session, after its mail, and records that the session has seen them.
func showNews(ctx context.Context, c *call, s sessions.Session) error {
	if c.json { // the answer is a JSON list of messages, without posts
		return nil
	}
	news, err := rooms.NewsFor(ctx, c.b.Registry, s, false)
	if err != nil {
		fmt.Fprintf(c.stderr, "c2c: %v\n", err)
	}
	if c.forPerson(ctx) {
		for _, r := range news.Rooms {
			c.printf("\nNew in %s: %d, newest first; c2c rooms history %[1]s shows all\n", r.Room, r.Count)
			for _, p := range r.Posts[:min(len(r.Posts), 10)] {
				c.printf("  %s\n", p.Line(200, time.Now()))
			}
		}
	} else if len(news.Rooms) > 0 {
		most := maxNews
		if room, _ := c.shellRoom(s.Client); room > 0 {
			most = min(most, room/4)
		}
		text := news.Text(most)
		if text == "" {
			return nil
		}
		fmt.Fprintln(c.stdout, text) // c.printf would escape the line ends. No post can add a line to this text
	}
	if err := c.handOver(); err != nil {
		return err
	}
	if seen := news.Seen(ctx); seen != nil && err == nil { // only warn: the mail was handed over, and does not come again
		fmt.Fprintf(c.stderr, "c2c: %v\n", seen)
	}
	return nil
}
