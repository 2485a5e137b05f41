package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/sessions"
)

func ask(c *call, f *cli.Flags) action {
	d := newDraft(f)
	d.message.Kind = "question"
	wait := f.Duration("wait")
	return func(ctx context.Context) error {
		if len(c.words) == 0 {
			return fmt.Errorf("%w: whom?", errUsage)
		}
		if *wait <= 0 {
			return fmt.Errorf("%w: --wait %v: want more than 0s; c2c send asks without a wait", errUsage, *wait)
		}
		d.message.To = c.words[0]
		var from sessions.Session
		var q *broker.Question
		err := d.send(ctx, c, c.words[1:], func(ctx context.Context, s sessions.Session) (err error) {
			from = s
			q, err = c.b.Ask(ctx, s, d.message, *wait)
			return err
		})
		if err != nil {
			return err
		}
		if q.Recipient == sessions.Absent {
			err = noAnswer(fmt.Sprintf("%s is absent, and question %s waits for it", q.To, mail.ShortID(q.ID)))
			return errors.Join(err, c.limited(ctx, q.Close))
		}
		if !c.json {
			note := ""
			if q.Note != "" {
				note = "; " + q.Note
			}
			fmt.Fprintf(c.stderr, "c2c: asked %s as %s, waiting at most %v%s\n", q.To, mail.ShortID(q.ID), *wait, note)
		}
		err = c.awaitAnswer(ctx, from, q, *wait)
		return errors.Join(err, c.limited(ctx, q.Close))
	}
}

// awaitAnswer waits for the answer and hands it over.
func (c *call) awaitAnswer(ctx context.Context, s sessions.Session, q *broker.Question, limit time.Duration) error {
	m, err := c.b.Mailbox(s.ID)
	if err != nil {
		return err
	}
	brief, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var a *broker.Answer
	look := func() (bool, error) {
		err := c.limited(ctx, func(ctx context.Context) (err error) {
			a, err = q.Look(ctx)
			return err
		})
		return a != nil, err
	}
	err = c.until(brief, m.LockName(), m.Stamp, look)
	late := a == nil && brief.Err() != nil && ctx.Err() == nil
	if late {
		_, err = look() // the answer may have come while this process was stopped
	}
	switch {
	case a != nil:
		return c.limited(ctx, func(ctx context.Context) error { return c.handAnswer(ctx, s, a) })
	case late && err == nil:
		return c.late(ctx, q, limit)
	}
	return err
}

// handAnswer prints the answer as c2c poll-inbox would. An answer that is too long for the client's
// shell stays in the mailbox.
func (c *call) handAnswer(ctx context.Context, s sessions.Session, a *broker.Answer) error {
	r, err := c.reader(ctx, s).Render([]mail.Message{a.Message}, false)
	if err == nil {
		err = r.Write()
	}
	if err == nil && len(r.Shown) == 0 {
		return a.Ack(ctx, errors.New("too long"))
	}
	return errors.Join(err, a.Ack(ctx, err))
}

func (c *call) late(ctx context.Context, q *broker.Question, limit time.Duration) error {
	became := ""
	c.limited(ctx, func(ctx context.Context) error {
		_, became = q.Became(ctx, "c2c poll-inbox, c2c history")
		return nil
	})
	return noAnswer(strings.TrimSuffix(fmt.Sprintf("%s has not answered %s in %v: %s", q.To, mail.ShortID(q.ID), limit, became), ": "))
}

func noAnswer(why string) error {
	return cli.WithHint(fmt.Errorf("%s; %w", why, broker.ErrNoAnswer), "a later answer comes as mail, and names this question; do not ask again")
}
