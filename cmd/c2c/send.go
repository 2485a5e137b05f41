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
	"c2c/sessions/callers"
)

// draft is the message that the options of send, reply or ask describe.
type draft struct {
	file    string
	tags    map[string]*bool
	message mail.Message
}

func newDraft(f *cli.Flags) *draft {
	d := &draft{tags: map[string]*bool{}}
	f.TextVar(&d.file, "F")
	f.TextVar(&d.message.Kind, "kind")
	f.BoolVar(&d.message.Deferrable, "deferrable")
	f.BoolVar(&d.message.Ephemeral, "ephemeral")
	f.Func("ttl", func(s string) error { return broker.SetTTL(&d.message, time.Now(), s) })
	f.Func("tell-after", func(s string) error { return broker.SetTellAfter(&d.message, s) })
	for _, tag := range broker.Tags() {
		d.tags[tag] = f.Bool(tag)
	}
	return d
}

// complete sets the tag and the body.
func (d *draft) complete(c *call, words []string) (err error) {
	for tag, set := range d.tags {
		if *set && d.message.Tag != "" {
			return fmt.Errorf("%w: only one of --urgent, --blocking and --fail", errUsage)
		}
		if *set {
			d.message.Tag = tag
		}
	}
	d.message.Content, err = cli.Body(c.stdin, d.file, words)
	return err
}

// send completes the message, and then calls the function do with the sender. The function do has a
// time limit; reading the body has none.
func (d *draft) send(ctx context.Context, c *call, words []string, do func(context.Context, sessions.Session) error) error {
	if err := d.complete(c, words); err != nil {
		return err
	}
	return c.limited(ctx, func(ctx context.Context) error {
		from, err := c.acting(ctx)
		if err != nil {
			return err
		}
		return do(ctx, from)
	})
}

func (c *call) printReceipt(r broker.Receipt) {
	note := ""
	if r.Duplicate {
		note = "; it had been sent before"
	}
	if r.Note != "" {
		note += "; " + r.Note
	}
	c.printf("queued for %s as %s%s\n", r.To, mail.ShortID(r.ID), note)
	if c.project != "" {
		fmt.Fprintf(c.stderr, "c2c: answers come to you in that project: c2c poll-inbox --project %s\n", mail.Visible(c.project, ""))
	}
}

func send(c *call, f *cli.Flags) action {
	d := newDraft(f)
	f.Func("answer-by", func(s string) error { return broker.SetAnswerBy(&d.message, time.Now(), s) })
	f.Func("id", func(id string) error {
		d.message.ID = id
		return sessions.CheckID(id)
	})
	f.Func("reply-to", func(id string) error {
		d.message.InReplyTo = id
		return sessions.CheckID(id)
	})
	r := newRoom(f)
	return func(ctx context.Context) error {
		if len(c.words) == 0 {
			return fmt.Errorf("%w: to whom? a room's name needs quotes, '#review'", errUsage)
		}
		if alias, name, is := strings.Cut(c.words[0], "#"); is {
			return r.send(ctx, c, d, alias, name)
		}
		if c.words[0] == "all" {
			return d.sendAll(ctx, c)
		}
		d.message.To = c.words[0]
		return d.send(ctx, c, c.words[1:], func(ctx context.Context, from sessions.Session) error {
			r, err := c.b.Send(ctx, from, d.message)
			if errors.Is(err, sessions.ErrNoSession) {
				err = cli.WithHint(err, c.meantToSend(ctx))
			}
			if err != nil {
				return err
			}
			c.warnOfTwo(ctx, c.words)
			return c.show(r, func() { c.printReceipt(r) })
		})
	}
}

// meantToSend returns a hint for a first word that is not an alias: the command that the person may
// have meant, or "" if it finds no such command.
func (c *call) meantToSend(ctx context.Context) string {
	to := c.words[0]
	several := strings.ContainsAny(strings.Trim(to, " ,;"), " ,;")
	switch {
	case strings.Contains(" * everyone everybody ", " "+strings.ToLower(strings.TrimPrefix(to, "@"))+" "):
		return "c2c send all writes to everybody"
	case len(c.words) == 2 && c.aliasOf(ctx, c.words[1]) != "":
		return fmt.Sprintf("the alias stands first: c2c send %s %q", c.words[1], to)
	case several:
		return "c2c send writes to one session: run it once for each; c2c send all writes to everybody"
	}
	return ""
}

// aliasOf returns the alias that a word means, as its session spells it; "" if no session has this
// alias.
func (c *call) aliasOf(ctx context.Context, word string) string {
	if s, err := callers.Resolve(ctx, c.b.Registry, callers.Caller{Explicit: word}); err == nil && strings.EqualFold(s.Alias, word) {
		return s.Alias
	}
	return ""
}

// warnOfTwo warns after `c2c send amber birch hi` that birch is a word of the message, not a second
// receiver.
func (c *call) warnOfTwo(ctx context.Context, words []string) {
	if len(words) < 3 {
		return
	}
	if alias := c.aliasOf(ctx, words[1]); alias != "" {
		fmt.Fprintf(c.stderr, "c2c: %q is an alias, too, and was sent as a word of the message: c2c send writes to one session\n", mail.Visible(alias, ""))
	}
}

// sendAll sends the message to every other session.
func (d *draft) sendAll(ctx context.Context, c *call) error {
	if d.message.ID != "" || d.message.InReplyTo != "" || d.message.AnswerBy != 0 {
		return fmt.Errorf("%w: --id, --reply-to and --answer-by are for a message to one session", errUsage)
	}
	return d.send(ctx, c, c.words[1:], func(ctx context.Context, from sessions.Session) error {
		sent, skipped, err := c.b.SendAll(ctx, from, d.message)
		if err != nil && len(sent) == 0 {
			return err
		}
		told := c.show(map[string]any{"sent": append([]broker.Receipt{}, sent...), "skipped": append([]broker.Skipped{}, skipped...)}, func() {
			for _, r := range sent {
				c.printReceipt(r)
			}
			for _, s := range skipped {
				fmt.Fprintf(c.stderr, "c2c: not sent to %s: %s\n", mail.Visible(s.Alias, ""), s.Reason)
			}
		})
		return errors.Join(err, told)
	})
}
