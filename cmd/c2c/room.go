package main

import (
	"context"
	"fmt"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox/mail"
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

// send posts to a room. The argument alias is a member that the post wakes, or "".
func (r *room) send(ctx context.Context, c *call, d *draft, alias, name string) error {
	return d.send(ctx, c, c.words[1:], func(ctx context.Context, from sessions.Session) error {
		post := rooms.Draft{Room: name, To: alias, Message: d.message, Wake: r.wake, Reason: r.reason, Limit: rooms.LimitOf(c.getenv)}
		receipt, err := rooms.Publish(ctx, c.b, from, post)
		if err != nil {
			return cli.WithHint(err, rooms.HintFor(err, name))
		}
		return c.showPosted(receipt)
	})
}

func (c *call) showPosted(r rooms.Receipt) error {
	return c.show(r, func() {
		if r.InReplyTo != "" {
			c.printf("posted to #%s as an answer to %s: ", r.Room, mail.ShortID(r.InReplyTo))
		}
		c.printf("%s\n", r.String())
	})
}

// maxNews bounds the text about new posts in rooms that c2c prints after the mail, in bytes.
const maxNews = 4 << 10

// showNews prints the new posts in the rooms of a session, after its mail, and records that the
// session has seen them.
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
	if err := c.flushDurably(); err != nil {
		return err
	}
	if seen := news.Seen(ctx); seen != nil && err == nil { // only warn: the mail was handed over, and does not come again
		fmt.Fprintf(c.stderr, "c2c: %v\n", seen)
	}
	return nil
}
