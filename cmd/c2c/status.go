package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/sessions"
)

func status(c *call, f *cli.Flags) action {
	thread := f.Bool("thread")
	return func(ctx context.Context) error {
		id, err := c.messageID()
		if err != nil {
			return err
		}
		if *thread {
			return c.showThread(ctx, id)
		}
		c.meetDeadlines(ctx)
		found, err := c.b.Status(ctx, id)
		if errors.Is(err, broker.ErrNoMessage) {
			hint := "c2c outbox shows the ids of your sent messages"
			if rows, rerr := c.b.Rows(ctx); rerr == nil && c.b.Receiver(rows, id) != nil {
				hint = id + " is a session: c2c search " + id + " finds the mail from and to it, c2c list shows what it does"
			}
			err = cli.WithHint(err, idAlone("c2c status %s", id, hint))
		}
		if err != nil {
			return err
		}
		return c.show(found, func() {
			for _, s := range append([]broker.MessageStatus{found}, found.Others...) {
				by := ""
				if s.By != "" {
					by = " by " + s.By
				}
				when, at := "at", s.At
				if !s.HandedAt.IsZero() {
					when, at = "after", s.HandedAt
				}
				c.printf("%s: %s%s %s %s (%s to %s)\n", mail.ShortID(s.ID), s.State, by, when, clock(at), s.From, s.To)
				c.printf("  %s\n", s.Sentence())
				if s.From != mail.SystemAlias {
					c.printf("  %s: %s\n", cmp.Or(s.KnownBy, "unknown"), s.Sender())
				}
				c.printOwed(s)
				if s.Do != "" {
					c.printf("  %s\n", s.Do)
				}
			}
		})
	}
}

// messageID checks that the command has one word, a message id or a part of one, and returns the
// word.
func (c *call) messageID() (string, error) {
	if len(c.words) != 1 {
		return "", fmt.Errorf("%w: which message? one id", errUsage)
	}
	if err := sessions.CheckID(c.words[0]); err != nil {
		return "", cli.WithHint(fmt.Errorf("%w: %w", errUsage, err), idAlone("c2c status %s", c.words[0], ""))
	}
	return c.words[0], nil
}

// idAlone returns a hint if word is an id together with other characters, such as a full stop that
// was copied with it. For any other word it returns fallback. The argument command is the command
// to show in the hint, with %s for the id.
func idAlone(command, word, fallback string) string {
	id := strings.Trim(word[strings.IndexByte(word, ':')+1:], "#.,:;\"'`()[]<>")
	if id == word || sessions.CheckID(id) != nil {
		return fallback
	}
	return "the id alone: " + fmt.Sprintf(command, id)
}

// newest returns how many messages the option --limit asks for. An option of 0 asks for all.
func newest(limit int) (int, error) {
	switch {
	case limit == 0:
		return math.MaxInt, nil
	case limit < 0:
		return 0, fmt.Errorf("%w: --limit %d: want 0 for all, or more", errUsage, limit)
	}
	return limit, nil
}
