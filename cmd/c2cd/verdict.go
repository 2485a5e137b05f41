package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/permission"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/wake/watch"
)

// lifetimeVariable is how long a permission request waits for a verdict.
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

// approverThere says whether somebody can show permission requests of this directory's root to a person. It makes nothing.
func (a *app) approverThere() bool {
	root, err := a.root()
	if err != nil {
		return false
	}
	dir, err := atomicfile.Open(root)
	if err != nil {
		return false
	}
	defer dir.Close()
	return permission.Open(dir, time.Now).Present()
}

// verdict allows or denies a tool call that waits in another session, or shows which do.
func (c *call) verdict(ctx context.Context, allow bool) error {
	asJSON := c.Bool("json")
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
	store := permission.Open(b.Dir(), time.Now).LogTo(b.LogPairs)
	if len(words) == 0 {
		return c.showAsking(ctx, store, *asJSON)
	}
	v := permission.Verdict{Allow: allow, Via: "terminal"}
	s, err := c.onlyPerson(ctx, b, "answers a permission request")
	v.By = s.Alias
	if err != nil {
		return errors.Join(err, notRefused(store.Refuse(ctx, words[0], v)))
	}
	r, err := store.Decide(ctx, words[0], v)
	if errors.Is(err, permission.ErrUnknown) {
		return cli.WithHint(fmt.Errorf("%w: %q", err, words[0]), "c2c allow shows those that are open")
	}
	if err != nil {
		return err
	}
	return c.showSent(ctx, store, r, *asJSON)
}

// notRefused leaves out what Refuse always says.
func notRefused(err error) error {
	if err == permission.ErrNoRight {
		return nil
	}
	return err
}

// onlyPerson is the mailbox of the person who types this, who does what only a person may. With an error, it is the agent's
// whose shell it is, if that is known.
func (c *call) onlyPerson(ctx context.Context, b *broker.Broker, does string) (broker.Session, error) {
	s, err := b.Attach(ctx, broker.Caller{Getenv: c.getenv, User: broker.UserHere(c.getenv, c.stdin)})
	if err == nil && s.State != broker.Person {
		err = fmt.Errorf("only a person %s, and this is the shell of %s: ask your user to type it in a terminal of theirs", does, s.Alias)
	} else if errors.Is(err, broker.ErrNoSession) {
		err = cli.WithHint(fmt.Errorf("only a person %s, and this shell has no terminal", does), "type it in a terminal of yours; an agent asks its user to")
	}
	return s, err
}

// showAsking shows the requests that are open.
func (c *call) showAsking(ctx context.Context, store *permission.Store, asJSON bool) error {
	all, err := store.List(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r permission.Request) bool { return r.State != permission.StateOpen })
	if asJSON {
		return cli.JSON(c.stdout, slices.Concat([]permission.Request{}, all))
	}
	if len(all) == 0 {
		fmt.Fprintln(c.stdout, "no session waits for a permission that c2c was told of")
		fmt.Fprintln(c.stderr, "c2c: hint: a client tells of its dialogs if it was started with c2c start --channel, while the page was open or a sender could decide")
	}
	for _, r := range all {
		name := r.ID
		if slices.ContainsFunc(all, func(o permission.Request) bool { return o.ID == r.ID && o.Session != r.Session }) {
			name = r.Name()
		}
		fmt.Fprintf(c.stdout, "%s  %s asks for %s, for %s\n", name, r.Alias, r.Tool, broker.Age(time.Since(inbox.FromSeconds(r.AskedAt))))
		for _, text := range []string{r.Description, r.Input} {
			if text != "" {
				fmt.Fprintf(c.stdout, "    %s\n", strings.ReplaceAll(text, "\n", "\n    "))
			}
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(c.stdout, "c2c allow ID lets it run, c2c deny ID refuses it")
	}
	return nil
}

// sentWait is how long a verdict is seen on its way. The session's server looks at once; a machine may be slow.
const sentWait = 5 * time.Second

// showSent says that the verdict was given to the client. That the client took it, it never says.
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
