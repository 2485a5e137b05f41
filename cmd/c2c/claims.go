package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/claims"
)

// claim claims files or a task, gives up claims, or lists them.
func claim(c *call, f *cli.Flags) action {
	task, why, free, list := f.Text("task"), f.Text("why"), f.Bool("release"), f.Bool("list")
	return func(ctx context.Context) error {
		switch {
		case *list:
			return c.listClaims(ctx)
		case *free:
			return c.changeClaims(ctx, claims.Release, *task, "", "released")
		case len(c.words) == 0 && *task == "":
			return fmt.Errorf("%w: which paths, or --task WORDS?", errUsage)
		}
		return c.changeClaims(ctx, claims.Make, *task, *why, "claimed")
	}
}

type changeClaims = func(context.Context, *sessions.Registry, sessions.Session, claims.Wanted) ([]claims.Claim, error)

// changeClaims makes or releases the claims that the words name, and prints them after the word
// says.
func (c *call) changeClaims(ctx context.Context, change changeClaims, task, why, says string) error {
	s, err := c.attach(ctx)
	if err != nil {
		return err
	}
	want := claims.Wanted{Paths: c.words, Dir: c.cwd, Worktree: claims.Worktree(c.cwd), Task: task, Why: why}
	all, err := change(ctx, c.b.Registry, s, want)
	if held := new(claims.HeldError); errors.As(err, &held) {
		hint := fmt.Sprintf("c2c send %s asks for it", held.Claim.Alias)
		if !sessions.IsPersonID(held.Claim.SID) { // the session of a person never ends
			hint += fmt.Sprintf("; it becomes free when %s ends", held.Claim.Alias)
		}
		return cli.WithHint(err, hint)
	}
	if err != nil {
		return err
	}
	return c.showClaims(all, func(one claims.Claim) string { return says + " " + one.Shown() }, "nothing "+says)
}

// showClaims prints claims as JSON, or a line for each claim.
func (c *call) showClaims(all []claims.Claim, line func(claims.Claim) string, none string) error {
	return c.show(append([]claims.Claim{}, all...), func() {
		for _, one := range all {
			c.printf("%s\n", line(one))
		}
		if len(all) == 0 {
			c.printf("(%s)\n", none)
		}
	})
}

// listClaims lists the claims: all, or those that may cover the paths.
func (c *call) listClaims(ctx context.Context) error {
	all, err := claims.List(ctx, c.b.Registry)
	if err != nil {
		return err
	}
	paths := make([]string, len(c.words))
	for i, name := range c.words {
		if paths[i], err = claims.Resolve(c.cwd, name); err != nil {
			return err
		}
	}
	if len(paths) > 0 {
		all = claims.On(all, paths)
	}
	return c.showClaims(all, func(c claims.Claim) string {
		line := c.Alias + ": " + c.Shown() + claims.Reason(c)
		if c.Worktree != "" {
			line += ", in " + mail.Message{Content: c.Worktree}.FirstWords(200) // one line, even if the directory's name has several
		}
		if c.Free() {
			line += ", free: its session is gone; if the session comes back, it has the claim again until " + c.Gone.Add(claims.Grace).Local().Format(time.TimeOnly)
		}
		return line
	}, "no claims")
}
