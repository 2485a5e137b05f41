package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"

	"c2c/broker"
	"c2c/hooks"
	"c2c/inbox"
)

func (a *app) printMail(msgs []inbox.Message, asJSON bool) error {
	if asJSON {
		return a.json(append([]inbox.Message{}, msgs...))
	}
	if len(msgs) == 0 {
		a.printf("(no messages)\n")
	}
	for _, m := range msgs {
		fmt.Fprintln(a.stdout, m.Envelope())
	}
	return nil
}

// mailbox gives f the caller's mailbox.
func (a *app) mailbox(ctx context.Context, sid string, f func(*broker.Broker, broker.Session, *inbox.Mailbox) error) error {
	b, err := a.open()
	if err != nil {
		return err
	}
	defer b.Close()
	lockCtx, cancel := context.WithTimeout(ctx, a.lockWait)
	defer cancel()
	s, err := a.session(lockCtx, b, sid)
	if err != nil {
		return err
	}
	m, err := b.Mailbox(s.ID)
	if err != nil {
		return err
	}
	return f(b, s, m)
}

type readFlags struct {
	peek, check, json bool
	sid               string
	wait              waitFlag
}

func (f *readFlags) action(fs *flag.FlagSet) action {
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.StringVar(&f.sid, "session-id", "", "`session` or alias, if not this one")
	return func(ctx context.Context, a *app, _ []string) error { return a.poll(ctx, *f) }
}

func pollInbox(fs *flag.FlagSet) action {
	var f readFlags
	fs.BoolVar(&f.peek, "peek", false, "leave the messages where they are")
	fs.BoolVar(&f.check, "check", false, "print nothing: exit 0 if mail waits, 3 if none does")
	fs.Var(&f.wait, "wait", "wait for mail, for this `duration` or for ever")
	return f.action(fs)
}

func peekInbox(fs *flag.FlagSet) action { return (&readFlags{peek: true}).action(fs) }

func (a *app) poll(ctx context.Context, f readFlags) error {
	return a.mailbox(ctx, f.sid, func(b *broker.Broker, s broker.Session, m *inbox.Mailbox) error {
		if f.wait.on {
			if err := a.await(ctx, m, f.wait.limit); err != nil {
				return err
			}
		}
		if f.check {
			some, err := m.Waiting()
			if err == nil && !some {
				err = errNothing
			}
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, a.lockWait)
		defer cancel()
		if f.peek {
			msgs, err := m.Peek(ctx)
			if err != nil {
				return err
			}
			return a.printMail(msgs, f.json)
		}
		return b.HandOver(ctx, s, a.reader(f.json))
	})
}

// reader hands over all that waits, or as much as the client's shell passes on that we run in.
func (a *app) reader(asJSON bool) broker.Reader {
	room, limit := a.shellRoom(), int64(math.MaxInt64)
	if room > 0 {
		limit = int64(4 * room)
	}
	var notes []string
	return broker.Reader{
		By: "cli_poll", Limit: limit,
		Render: func(msgs []inbox.Message, more bool) (shown, announced []int, err error) {
			if room == 0 || len(msgs) == 0 {
				for i := range msgs {
					shown = append(shown, i)
				}
				return shown, nil, a.printMail(msgs, asJSON)
			}
			print := inbox.Message.Envelope
			if asJSON {
				print = indented
			}
			answer, said := hooks.Shell(room, msgs, more, print)
			if !asJSON {
				_, err = a.stdout.Write(answer.Output)
				return answer.Shown, answer.Announced, err
			}
			notes = said
			var whole []inbox.Message
			for _, i := range answer.Shown {
				whole = append(whole, msgs[i])
			}
			return answer.Shown, answer.Announced, a.printMail(whole, true)
		},
		Write: func() error {
			if err := a.handOver(); err != nil {
				return fmt.Errorf("%w; the mail waits again", err)
			}
			for _, note := range notes {
				fmt.Fprintf(a.stderr, "c2c: %s\n", note)
			}
			return nil
		},
	}
}

// indented is a message as --json prints it among others.
func indented(m inbox.Message) string {
	text, err := json.MarshalIndent(m, "  ", "  ")
	if err != nil {
		return err.Error()
	}
	return "  " + string(text) + ",\n"
}

func history(fs *flag.FlagSet) action {
	limit := fs.Int("limit", 50, "at most this `number`, 0 for all")
	asJSON := fs.Bool("json", false, "print JSON")
	sid := fs.String("session-id", "", "`session` or alias, if not this one")
	return func(ctx context.Context, a *app, _ []string) error {
		if *limit < 0 {
			return fmt.Errorf("%w: --limit %d: want 0 for all, or more", errUsage, *limit)
		}
		if *limit == 0 {
			*limit = math.MaxInt
		}
		return a.mailbox(ctx, *sid, func(_ *broker.Broker, _ broker.Session, m *inbox.Mailbox) error {
			found, err := m.History(ctx, *limit)
			if err != nil {
				return err
			}
			if *asJSON {
				return a.json(append([]inbox.Archived{}, found...))
			}
			for _, h := range found {
				fmt.Fprintln(a.stdout, h.Envelope())
			}
			return nil
		})
	}
}
