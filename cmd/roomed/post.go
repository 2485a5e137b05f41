package roomed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// draft has the options of c2c post, which are the options of c2c send.
type draft struct {
	rooms.Draft
	file   string
	answer string // ROOM/ID of the answered message; if it is set, the words are those of c2c reply, not of c2c send
	tags   map[string]*bool
}

func newDraft(f *cli.Flags) *draft {
	d := &draft{tags: map[string]*bool{}}
	m := &d.Message
	f.TextVar(&d.file, "F")
	f.TextVar(&m.Kind, "kind")
	f.BoolVar(&m.Deferrable, "deferrable")
	f.BoolVar(&m.Ephemeral, "ephemeral")
	f.Func("ttl", func(s string) error { return owed.SetTTL(m, time.Now(), s) })
	f.Func("tell-after", func(s string) error { return owed.SetTellAfter(m, s) })
	f.Func("answer-by", func(s string) error { return owed.SetAnswerBy(m, time.Now(), s) })
	f.Func("id", func(id string) error {
		m.ID = id
		return sessions.CheckID(id)
	})
	f.Func("reply-to", func(id string) error {
		m.InReplyTo = id
		return sessions.CheckID(id)
	})
	f.BoolVar(&d.Wake, "wake")
	f.TextVar(&d.Reason, "reason")
	f.TextVar(&d.answer, "answer")
	for _, tag := range broker.Tags() {
		d.tags[tag] = f.Bool(tag)
	}
	return d
}

// Post runs the verb c2c post. The verbs c2c send and c2c reply start c2c post for each post that may wake somebody.
func PostToRoom(ctx context.Context, p RoomProgram, v cli.Verb, args []string) error {
	c := &call{RoomProgram: p, Flags: cli.NewFlags(v)}
	c.BoolVar(&c.json, "json")
	c.TextVar(&c.session, "session-id")
	d := newDraft(c.Flags)
	words, err := c.Parse(args)
	if err != nil {
		return err
	}
	if words, err = d.address(words); err != nil {
		return err
	}
	for tag, set := range d.tags {
		if *set && d.Message.Tag != "" {
			return fmt.Errorf("%w: only one of --urgent, --blocking and --fail", cli.ErrUsage)
		}
		if *set {
			d.Message.Tag = tag
		}
	}
	if d.Message.Content, err = cli.Body(p.Stdin, d.file, words); err != nil {
		if d.answer != "" { // the person has typed c2c reply
			err = cli.WithHint(err, "such as: c2c reply 'Yes.', which posts to the room; c2c help reply shows how")
		}
		return err
	}
	if c.b, err = p.Open(); err != nil {
		return err
	}
	defer c.b.Close()
	ctx, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	s, err := c.acting(ctx)
	if err != nil {
		return err
	}
	d.Limit = rooms.LimitOf(p.Getenv)
	err = c.post(ctx, s, d)
	return hinted(err, d.Room)
}

// address returns the words of the text: those after the room, or after the id of the answered message if there is one.
func (d *draft) address(words []string) (text []string, err error) {
	if d.answer != "" {
		if len(words) > 0 && (d.file != "" || len(words) > 1 || mail.LooksLikeID(words[0])) {
			words = words[1:]
		}
		return words, nil
	}
	var ok bool
	if len(words) > 0 {
		d.To, d.Room, ok = rooms.Address(words[0])
	}
	if !ok {
		return nil, fmt.Errorf("%w: name the room: '#NAME'", cli.ErrUsage)
	}
	return words[1:], nil
}

func (c *call) post(ctx context.Context, s sessions.Session, d *draft) (err error) {
	var r rooms.Receipt
	if d.answer == "" {
		r, err = rooms.Publish(ctx, c.b, s, d.Draft)
	} else {
		room, id, _ := strings.Cut(d.answer, "/")
		answered := mail.Message{ID: id, To: s.Alias + "#" + room}
		if room == "" {
			answered, err = rooms.Received(c.b.Registry, s, id)
		}
		if err == nil {
			d.Room = mail.RoomOf(answered.To)
			r, err = rooms.ReplyToPost(ctx, c.b, s, answered, d.Draft)
		}
	}
	if err != nil {
		return err
	}
	return c.show(r, func() {
		if r.InReplyTo != "" {
			c.printf("posted to #%s as an answer to %s: ", r.Room, mail.ShortID(r.InReplyTo))
		}
		c.printf("%s\n", r.String())
	})
}

// acting finds the caller's session, or makes one.
func (c *call) acting(ctx context.Context) (sessions.Session, error) {
	caller := callers.Caller{Explicit: c.session, Getenv: c.Getenv, User: callers.UserHere(c.Getenv, c.Stdin)}
	s, err := callers.Resolve(ctx, c.b.Registry, caller)
	if errors.Is(err, sessions.ErrNoSession) && c.session == "" {
		s, err = c.b.Attach(ctx, caller)
	}
	return s, err
}
