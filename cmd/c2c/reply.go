package main

import (
	"context"
	"errors"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
)

func reply(c *call, f *cli.Flags) action {
	d := newDraft(f)
	return func(ctx context.Context) error {
		var from broker.Session
		var answered inbox.Message
		words := c.words
		// What it answers is found out before its text comes: meanwhile other mail may be handed over.
		err := c.limited(ctx, func(ctx context.Context) (err error) {
			if from, err = c.acting(ctx); err == nil {
				answered, words, err = c.toAnswer(ctx, from, words, d.file != "")
			}
			return err
		})
		if err == nil {
			err = d.complete(c, words)
		}
		if err != nil {
			return err
		}
		return c.limited(ctx, func(ctx context.Context) error {
			r, err := c.b.Reply(ctx, from, answered, d.message)
			if err != nil {
				return err
			}
			return c.show(r, func() {
				c.printReceipt(r)
				c.printf("it answers %s of %s: %s\n", inbox.ShortID(answered.ID), answered.From, words40(answered))
			})
		})
	}
}

// toAnswer gives the message that the first word names, and the words behind it; else the message that was handed over
// last. text says that the text of the answer is no word.
func (c *call) toAnswer(ctx context.Context, s broker.Session, words []string, text bool) (inbox.Message, []string, error) {
	if len(words) > 0 && c.isID(ctx, s, words[0], text || len(words) > 1) {
		m, err := c.b.Received(ctx, s, words[0])
		if errors.Is(err, broker.ErrNoMessage) {
			err = cli.WithHint(err, "a first word like this is taken for an id; c2c reply ID text, with the id of the message")
		}
		return m, words[1:], several(err)
	}
	m, err := c.b.LastReceived(ctx, s)
	if errors.Is(err, broker.ErrNoMessage) {
		err = cli.WithHint(err, "c2c poll-inbox takes what waits; c2c reply ID text answers any message")
	}
	return m, words, several(err)
}

// isID says whether the first word is an id: it looks like a part of a UUID, or there is more and a message that the
// session has received has this id.
func (c *call) isID(ctx context.Context, s broker.Session, word string, more bool) bool {
	if inbox.LooksLikeID(word) {
		return true
	}
	if !more || broker.CheckID(word) != nil {
		return false
	}
	box, err := c.b.Mailbox(s.ID)
	if err != nil {
		return false
	}
	found, err := box.Find(ctx, word)
	return err == nil && len(found) > 0
}

// several adds to an error that names several messages what to do about it.
func several(err error) error {
	var which *broker.SeveralError
	if errors.As(err, &which) {
		return cli.WithHint(err, "c2c reply ID text says which; c2c send --reply-to ID says to whom, too")
	}
	return err
}

// words40 are the first words of a message, or that there are none.
func words40(m inbox.Message) string {
	if m.Content == "" {
		return "(its words are not kept)"
	}
	return m.FirstWords(40)
}
