package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
)

func reply(c *call, f *cli.Flags) action {
	d := newDraft(f)
	done := f.Bool("done")
	return func(ctx context.Context) error {
		var from sessions.Session
		var answered mail.Message
		words := c.words
		// Find the answered message before reading the text: while c2c reads the text, other mail
		// may be handed over.
		err := c.limited(ctx, func(ctx context.Context) (err error) {
			if from, err = c.acting(ctx); err == nil {
				answered, words, err = c.toAnswer(ctx, from, words, d.file != "")
			}
			return err
		})
		if err != nil {
			return err
		}
		room := mail.RoomOf(answered.To)
		if err := d.complete(c, words); err != nil {
			if room != "" {
				err = cli.WithHint(err, "such as: c2c reply 'Yes.', which posts to the room; c2c help reply shows how")
			}
			return err
		}
		return c.limited(ctx, func(ctx context.Context) error {
			var show func() error
			if room != "" {
				show, err = c.replyToPost(ctx, from, answered, d)
			} else {
				show, err = c.replyToMail(ctx, from, answered, d)
			}
			if err != nil {
				return err
			}
			if *done {
				err = c.sayDone(ctx, from)
			}
			return errors.Join(err, show())
		})
	}
}

// replyToMail answers a message. The function show prints the receipt.
func (c *call) replyToMail(ctx context.Context, from sessions.Session, answered mail.Message, d *draft) (show func() error, err error) {
	r, err := c.b.Reply(ctx, from, answered, d.message)
	return func() error {
		return c.show(r, func() {
			c.printReceipt(r)
			c.printf("it answers %s of %s: %s\n", mail.ShortID(answered.ID), answered.From, words40(answered, mail.Message.FirstWords))
		})
	}, err
}

// replyToPost posts the answer to a message that came from a room. The function show prints the
// receipt.
func (c *call) replyToPost(ctx context.Context, from sessions.Session, answered mail.Message, d *draft) (show func() error, err error) {
	r, err := rooms.ReplyToPost(ctx, c.b, from, answered, rooms.Draft{Message: d.message, Limit: rooms.LimitOf(c.getenv)})
	return func() error { return c.showPosted(r) }, cli.WithHint(err, rooms.HintFor(err, mail.RoomOf(answered.To)))
}

// sayDone informs the sessions that wait until this session is done. Usually no session waits.
func (c *call) sayDone(ctx context.Context, s sessions.Session) error {
	if _, err := c.b.Dir().Stat(sessions.NotifyFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := owed.SaidDone(ctx, c.b.Registry, s, c.showOnDesktop); err != nil {
		return fmt.Errorf("the answer is sent, but the sessions that wait until this session is done were not informed: %w", err)
	}
	return nil
}

// toAnswer returns the message to answer, and the words of the answer. fromFile means that a file
// has the text. The first word is the id of the message, except in two cases: there is no word, or
// the only word is the text (it does not look like an id, and fromFile is not set). Then the
// command answers the message that was handed over last.
func (c *call) toAnswer(ctx context.Context, s sessions.Session, words []string, fromFile bool) (mail.Message, []string, error) {
	if more := fromFile || len(words) > 1; len(words) > 0 && (more || mail.LooksLikeID(words[0])) {
		m, err := c.b.Received(ctx, s, words[0])
		if errors.Is(err, broker.ErrNoMessage) && s.Facts.InRooms { // the id may be that of a post
			m, err = rooms.Received(c.b.Registry, s, words[0])
		}
		if errors.Is(err, broker.ErrNoMessage) || err != nil && sessions.CheckID(words[0]) != nil {
			err = cli.WithHint(fmt.Errorf("message %q: %w", words[0], broker.ErrNoMessage), idAlone("c2c reply %s 'text'", words[0], "c2c reply ID 'text' answers the message with that id; c2c reply 'text', in quotes, answers the last message"))
		}
		return m, words[1:], several(err)
	}
	m, err := c.b.LastReceived(ctx, s)
	if errors.Is(err, broker.ErrNoMessage) {
		err = cli.WithHint(err, "c2c poll-inbox takes the mail that waits; c2c reply ID text answers any message")
	}
	return m, words, several(err)
}

// several adds a hint to an error that names several messages.
func several(err error) error {
	var which *broker.SeveralError
	if errors.As(err, &which) {
		return cli.WithHint(err, "c2c reply ID text names the message; c2c send --reply-to ID also names the receiver")
	}
	return err
}

// words40 returns the first words of a message, or a note if c2c has not kept the text.
func words40(m mail.Message, first func(mail.Message, int) string) string {
	if m.Content == "" {
		return "(its words are not kept)"
	}
	return first(m, 40)
}
