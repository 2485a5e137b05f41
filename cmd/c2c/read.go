package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"c2c/broker"
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

// mailbox opens the caller's mailbox.
func (a *app) mailbox(ctx context.Context, sid string) (*broker.Broker, *inbox.Mailbox, error) {
	b, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, a.lockWait)
	defer cancel()
	s, err := a.session(ctx, b, sid)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	m, err := b.Mailbox(s.ID)
	if err != nil {
		b.Close()
	}
	return b, m, err
}

type readFlags struct {
	peek, check, json bool
	sid               string
	wait              waitFlag
}

func pollInbox(fs *flag.FlagSet) action {
	var f readFlags
	fs.BoolVar(&f.peek, "peek", false, "leave the messages where they are")
	fs.BoolVar(&f.check, "check", false, "print nothing: exit 0 if mail waits, 3 if none does")
	fs.Var(&f.wait, "wait", "wait for mail, for this `duration` or for ever")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.StringVar(&f.sid, "session-id", "", "`session` or alias, if not this one")
	return func(ctx context.Context, a *app, _ []string) error { return a.poll(ctx, f) }
}

func peekInbox(fs *flag.FlagSet) action {
	f := readFlags{peek: true}
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.StringVar(&f.sid, "session-id", "", "`session` or alias, if not this one")
	return func(ctx context.Context, a *app, _ []string) error { return a.poll(ctx, f) }
}

func (a *app) poll(ctx context.Context, f readFlags) error {
	b, m, err := a.mailbox(ctx, f.sid)
	if err != nil {
		return err
	}
	defer b.Close()
	if f.wait.on {
		if err := a.await(ctx, m, f.wait.limit); err != nil {
			return err
		}
	}
	lockCtx, cancel := context.WithTimeout(ctx, a.lockWait)
	defer cancel()
	if f.check {
		some, err := m.Waiting()
		if err == nil && !some {
			err = errNothing
		}
		return err
	}
	if f.peek {
		msgs, err := m.Peek(lockCtx)
		if err != nil {
			return err
		}
		return a.printMail(msgs, f.json)
	}
	l, err := m.Lease(lockCtx, "cli_poll")
	if err != nil {
		return err
	}
	if err := errors.Join(a.printMail(l.Messages, f.json), a.handOver()); err != nil {
		return errors.Join(fmt.Errorf("%w; the mail waits again", err), l.Release())
	}
	return l.AckAll(lockCtx)
}

func history(fs *flag.FlagSet) action {
	limit := fs.Int("limit", 50, "at the most this `number`")
	asJSON := fs.Bool("json", false, "print JSON")
	sid := fs.String("session-id", "", "`session` or alias, if not this one")
	return func(ctx context.Context, a *app, _ []string) error {
		b, m, err := a.mailbox(ctx, *sid)
		if err != nil {
			return err
		}
		defer b.Close()
		found, err := m.History(ctx, *limit)
		if err != nil {
			return err
		}
		if *asJSON {
			if found == nil {
				found = []inbox.Archived{}
			}
			return a.json(found)
		}
		for _, h := range found {
			fmt.Fprintln(a.stdout, h.Envelope())
		}
		return nil
	}
}
