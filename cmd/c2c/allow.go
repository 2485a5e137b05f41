package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions/permission"
)

// allow allows or refuses a tool call that waits in another session, or lists the waiting calls.
func allow(c *call, f *cli.Flags) action {
	partial, refuse := f.Bool("partial"), f.Bool("refuse")
	return func(ctx context.Context) error {
		if len(c.words) > 1 {
			return fmt.Errorf("%w: one request at a time", errUsage)
		}
		store := permission.Open(c.b.Dir(), time.Now).LogTo(c.b.Events.WriteTexts)
		if len(c.words) == 0 {
			return c.showAsking(ctx, store)
		}
		return c.decide(ctx, store, c.words[0], permission.Verdict{Allow: !*refuse, Partial: *partial, Via: "terminal"})
	}
}

// decide gives the verdict of the person at this terminal.
func (c *call) decide(ctx context.Context, store *permission.Store, request string, v permission.Verdict) error {
	s, err := c.b.Attach(ctx, c.caller(""))
	v.By = s.Alias
	if err := cli.OnlyPerson("answers a permission request", s, err); err != nil {
		return errors.Join(err, store.Refuse(ctx, request, v, permission.ErrNoRight))
	}
	v.Proof = permission.ProofTerminal
	r, err := store.Decide(ctx, request, v)
	if errors.Is(err, permission.ErrPartial) {
		return cli.WithHint(err, "c2c allow --partial "+request+" allows it all the same")
	}
	if errors.Is(err, permission.ErrUnknown) {
		return cli.WithHint(fmt.Errorf("%w: %q", err, request), "c2c allow shows those that are open")
	}
	if err != nil {
		return err
	}
	return c.showVerdict(ctx, store, r)
}

// showAsking shows the requests that are open.
func (c *call) showAsking(ctx context.Context, store *permission.Store) error {
	all, err := store.List(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r permission.Request) bool { return r.State != permission.StateOpen })
	if c.json {
		return cli.JSON(c.stdout, append([]permission.Request{}, all...)) // for no requests, the answer is [] and not null
	}
	if len(all) == 0 {
		fmt.Fprintln(c.stdout, "c2c knows of no session that waits for a permission")
		fmt.Fprintln(c.stderr, "c2c: hint: a client reports its dialogs if it was started with c2c start --channel")
	}
	for _, r := range all {
		name := r.ID
		if slices.ContainsFunc(all, func(o permission.Request) bool { return o.ID == r.ID && o.Session != r.Session }) {
			name = r.Name()
		}
		fmt.Fprintf(c.stdout, "%s  %s asks for %s, for %s\n", name, r.Alias, r.Tool, format.Age(time.Since(mail.FromSeconds(r.AskedAt))))
		for _, text := range textsOf(r) {
			fmt.Fprintf(c.stdout, "    %s\n", strings.ReplaceAll(text, "\n", "\n    "))
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(c.stdout, "c2c allow ID lets it run, c2c deny ID refuses it")
	}
	return nil
}

// textsOf returns the lines that describe a request.
func textsOf(r permission.Request) (texts []string) {
	if r.Description != "" {
		texts = append(texts, r.Description)
	}
	fields := r.Fields()
	for _, f := range fields {
		texts = append(texts, f.Name+": "+f.Value)
	}
	if fields == nil && r.Input != "" {
		texts = append(texts, r.Input)
	}
	if r.Partial {
		texts = append(texts, "NOT SHOWN IN FULL: look at it in its own dialog; c2c allow --partial allows it all the same")
	}
	return texts
}

// sentWait is how long showVerdict waits until the session's server has taken the verdict. The
// server checks at once, but a machine may be slow.
const sentWait = 5 * time.Second

// showVerdict prints that c2c has given the verdict to the client. The client does not report
// whether it took the verdict.
func (c *call) showVerdict(ctx context.Context, store *permission.Store, r permission.Request) error {
	sent := errors.New("sent")
	wait, cancel := context.WithTimeout(ctx, sentWait)
	defer cancel()
	err := untilChanges(wait, func() ([]string, error) {
		now, err := store.Get(wait, r.Session, r.ID)
		if err != nil {
			return nil, err
		}
		if r = now; r.SentAt > 0 {
			return nil, sent
		}
		return []string{store.LockPath()}, nil
	})
	if err != sent && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if c.json {
		return cli.JSON(c.stdout, r)
	}
	word := "deny"
	if r.State == permission.StateAllowed {
		word = "allow"
	}
	if r.SentAt == 0 {
		_, err = fmt.Fprintf(c.stdout, "%s for %s of %s is recorded, and was not sent to the session yet\n", word, r.Tool, r.Alias)
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "sent to %s: %s for %s\n", r.Alias, word, r.Tool)
	return err
}
