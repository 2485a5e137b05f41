package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"c2c/broker/permission"
	"c2c/inbox"
)

// ask is a tool call that waits for a person. Package permission has made its words visible, and cut them.
type ask struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	Alias   string `json:"alias"`
	Tool    string `json:"tool"`
	About   string `json:"about,omitempty"`
	Input   string `json:"input,omitempty"`
	Since   int64  `json:"since"`
	Until   int64  `json:"until"`
}

// asksGap is between two looks at the requests.
const asksGap = 50 * time.Millisecond

// followAsks tells the open requests of a root, now and after each change, until ctx ends.
func (p *Page) followAsks(ctx context.Context, store *permission.Store, tell func([]ask) error) error {
	var before []ask
	return p.changes.Each(ctx, asksGap, func() (files []string, wait time.Duration, err error) {
		all, err := store.List(ctx)
		if err != nil {
			return nil, 0, err
		}
		open := openAsks(all)
		if before == nil || !reflect.DeepEqual(open, before) {
			if err := tell(open); err != nil {
				return nil, 0, err
			}
			before = open
		}
		if next := permission.Until(all); !next.IsZero() {
			wait = max(time.Second, next.Sub(p.now()))
		}
		return []string{store.LockPath()}, wait, nil
	})
}

func openAsks(all []permission.Request) []ask {
	open := []ask{}
	for _, r := range all {
		if r.State == permission.StateOpen {
			open = append(open, ask{ID: r.ID, Session: r.Session, Alias: visible(r.Alias), Tool: visible(r.Tool), About: inbox.Visible(r.Description, "\n\t"),
				Input: inbox.Visible(r.Input, "\n\t"), Since: milli(inbox.FromSeconds(r.AskedAt)), Until: milli(inbox.FromSeconds(r.ExpiresAt))})
		}
	}
	return open
}

// decide writes the person's verdict on a request, which the page names with the session that asks: two may use one id.
func (p *Page) decide(c *call) (any, error) {
	var asked struct {
		ID      string `json:"id"`
		Session string `json:"session"`
		Allow   *bool  `json:"allow"`
	}
	if err := c.body(&asked); err != nil {
		return nil, err
	}
	if asked.Allow == nil || asked.Session == "" || asked.ID == "" {
		return nil, wrong("want the id and the session of a request, and whether it is allowed")
	}
	me, err := c.me()
	if err != nil {
		return nil, err
	}
	r, err := c.place.Permission.Decide(c, asked.ID, permission.Verdict{Allow: *asked.Allow, By: cmp.Or(me.Alias, me.ID), Via: "page", Sessions: []string{asked.Session}})
	var decided *permission.DecidedError
	var expired *permission.ExpiredError
	if errors.Is(err, permission.ErrUnknown) || errors.As(err, &decided) || errors.As(err, &expired) {
		return nil, refusal{http.StatusConflict, err}
	}
	if err != nil {
		return nil, err
	}
	return map[string]string{"state": string(r.State)}, nil
}
