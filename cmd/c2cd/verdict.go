package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/permission"
	"c2c/wake/watch"
)

// lifetimeVariable is the variable that says how long a permission request waits for a verdict.
const lifetimeVariable = "C2C_PERMISSION_TTL"

func permissionLifetime(value string) (time.Duration, error) {
	if value == "" {
		return permission.Lifetime, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return 0, fmt.Errorf("%s is %q: want a time from 1s to 24h, for example 10m", lifetimeVariable, value)
	}
	return d, nil
}

// verdict allows or denies a tool call that waits in another session, or lists the waiting calls.
func (c *call) verdict(ctx context.Context) error {
	asJSON, partial, refuse := c.Bool("json"), c.Bool("partial"), c.Bool("refuse")
	words, err := c.words()
	if err != nil {
		return err
	}
	if len(words) > 1 {
		return fmt.Errorf("%w: one request at a time", errUsage)
	}
	b, err := c.openThere()
	if err != nil {
		return err
	}
	defer b.Close()
	store := permission.Open(b.Dir(), time.Now).LogTo(b.Events.WriteTexts)
	if len(words) == 0 {
		return c.showAsking(ctx, store, *asJSON)
	}
	v := permission.Verdict{Allow: !*refuse, Partial: *partial, Via: "terminal"}
	s, err := c.onlyPerson(ctx, b, "answers a permission request")
	v.By = s.Alias
	if err != nil {
		return errors.Join(err, store.Refuse(ctx, words[0], v, permission.ErrNoRight))
	}
	v.Proof = permission.ProofTerminal
	r, err := store.Decide(ctx, words[0], v)
	if partial := new(permission.PartialError); errors.As(err, &partial) {
		return cli.WithHint(err, "c2c allow --partial "+words[0]+" allows it all the same")
	}
	if errors.Is(err, permission.ErrUnknown) {
		return cli.WithHint(fmt.Errorf("%w: %q", err, words[0]), "c2c allow shows those that are open")
	}
	if err != nil {
		return err
	}
	return c.showSent(ctx, store, r, *asJSON)
}

// onlyPerson returns the session of the person at this terminal, or an error if no person has run the command. The argument does completes
// the error "only a person ...", for example "opens the page". Together with an error, it returns the session of the agent whose shell this
// is, if c2c knows this session.
func (c *call) onlyPerson(ctx context.Context, b *broker.Broker, does string) (sessions.Session, error) {
	s, err := b.Attach(ctx, c.typed())
	return s, cli.OnlyPerson(does, s, err)
}

// typed describes a command that only a person may type.
func (c *call) typed() callers.Caller {
	return callers.Caller{Getenv: c.getenv, User: callers.UserHere(c.getenv, c.stdin)}
}

// showAsking shows the requests that are open.
func (c *call) showAsking(ctx context.Context, store *permission.Store, asJSON bool) error {
	all, err := store.List(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r permission.Request) bool { return r.State != permission.StateOpen })
	if asJSON {
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

// sentWait is how long showSent waits until the session's server has taken the verdict. The server checks at once, but a machine may be
// slow.
const sentWait = 5 * time.Second

// showSent prints that c2c has given the verdict to the client. The client does not report whether it took the verdict.
func (c *call) showSent(ctx context.Context, store *permission.Store, r permission.Request, asJSON bool) error {
	changes := watch.NewChanges()
	defer changes.Close()
	wait, cancel := context.WithTimeout(ctx, sentWait)
	defer cancel()
	err := changes.Until(wait, store.LockPath(), func() (bool, error) {
		now, err := store.Get(wait, r.Session, r.ID)
		if err == nil {
			r = now
		}
		return r.SentAt > 0, err
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if asJSON {
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
