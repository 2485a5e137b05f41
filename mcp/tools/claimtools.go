package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"c2c/broker/owed"
	"c2c/sessions/claims"
)

func init() {
	claim := entry("claim", changeClaims,
		"Tell others what you work on; c2c warns those who edit it.",
		list("paths", "Absolute."),
		str("task", ""),
		str("why", ""),
		boolean("release", "Give up; alone: all."),
	)
	add(claim, claim.old("release", map[string]any{"release": true}))
	add(entry("notify_when", notifyWhen,
		"Be told once.",
		str("alias", "").must(),
		str("when", "").must().oneOf(owed.Whens()),
	))
}

// changeClaims makes or releases claims. The model must give absolute paths, because a server does
// not always know the folder of its client.
func changeClaims(c *toolCall, ctx context.Context) (any, error) {
	w := claims.Wanted{Paths: c.req.GetStringSlice("paths", nil), Task: c.req.GetString("task", ""), Why: c.req.GetString("why", "")}
	if len(w.Paths) > 0 {
		w.Worktree = claims.Worktree(filepath.Dir(w.Paths[0]))
	}
	change := claims.Make
	if c.req.GetBool("release", false) {
		change = claims.Release
	} else if len(w.Paths) == 0 && w.Task == "" {
		return nil, errors.New("claim: it needs paths or a task")
	}
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	all, err := change(ctx, c.b.Registry, s, w)
	return c.claims(all), err
}

func listClaims(c *toolCall, ctx context.Context) (any, error) {
	all, err := claims.List(ctx, c.b.Registry)
	return c.claims(all), err
}

// claims answers with the newest claims, as many as fit into an answer.
func (c *toolCall) claims(all []claims.Claim) any {
	first := c.lastThatFit(len(all), func(i int) int {
		one, _ := ToJSON(all[i])
		return len(one)
	})
	answer := map[string]any{"claims": append([]claims.Claim{}, all[first:]...)}
	if first > 0 {
		answer["left_out"] = fmt.Sprintf("%d older claims: the command c2c claims shows all.", first)
	}
	return answer
}

// notifyWhen stores the session's request for a notice about another session. If the other session
// is in the asked state already, notifyWhen answers with the notice.
func notifyWhen(c *toolCall, ctx context.Context) (any, error) {
	s, err := c.attach(ctx)
	if err != nil {
		return nil, err
	}
	r, now, err := owed.RequestNotice(ctx, c.b.Registry, s, c.req.GetString("alias", ""), c.req.GetString("when", ""), false)
	if err != nil || now != nil {
		return now, err
	}
	return map[string]string{"alias": r.Alias, "when": r.When, "notice_id": r.NoticeID()}, nil
}
