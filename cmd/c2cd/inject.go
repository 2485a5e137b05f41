package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

func init() { verbs["inject"] = (*call).inject }

func (a *call) inject(ctx context.Context) error {
	from := a.Text("session-id")
	words, err := a.words()
	if err != nil {
		return err
	}
	if len(words) < 2 {
		return fmt.Errorf("%w: an alias, and the text, or - for standard input", errUsage)
	}
	body, err := cli.Body(a.stdin, "", words[1:])
	if err != nil {
		return err
	}
	b, err := a.openThere()
	if err != nil {
		return err
	}
	defer b.Close()
	caller := callers.Caller{Explicit: *from, Getenv: a.getenv, User: callers.UserHere(a.getenv, a.stdin)}
	sender, err := callers.Resolve(ctx, b.Registry, caller)
	if *from == "" && errors.Is(err, sessions.ErrNoSession) && !errors.As(err, new(*sessions.UnknownAliasError)) {
		sender, err = b.Attach(ctx, caller) // as c2c send does for a person who has not written before
	}
	if err != nil {
		return err
	}
	now := time.Now()
	m := mail.Message{From: sender.Alias, To: words[0], Content: body, ID: mail.NewID(now), TS: mail.Seconds(now)}
	if err := m.Check(); err != nil {
		return err
	}
	return a.injectInto(ctx, b, m)
}

func (a *app) injectInto(ctx context.Context, b *broker.Broker, m mail.Message) error {
	s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: m.To})
	if err != nil {
		return err
	}
	profile, _ := client.Find(s.Client)
	c, _ := wake.FindClient(s.Client)
	if c.Inject == nil || s.ClientID() == "" {
		return fmt.Errorf("session %q has no history that c2c knows; c2c send works for every session", s.Alias)
	}
	if s.State != sessions.Absent {
		return fmt.Errorf("session %q is %s: %w", s.Alias, s.State, wake.ErrLives)
	}
	// Inject one message after another, because each entry of a history names the entry before it.
	release, ok, err := b.Locks.BorrowRinging(s.ID)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("another process is about to wake session %q: try again", s.Alias)
	}
	h := wake.History{Getenv: a.getenv, ID: s.ClientID(), Text: mail.Preface([]mail.Message{m}) + "\n" + m.Envelope(), Now: time.Now()}
	h.Config, _ = profile.Config(a.getenv)
	path, err := c.Inject(h)
	if err = errors.Join(err, release()); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s of %s is in %s (experimental)\n", m.ID, m.From, path)
	if profile.Resume != "" {
		fmt.Fprintf(a.stdout, "%s %s shows it\n", profile.Resume, s.ClientID())
	}
	return nil
}
