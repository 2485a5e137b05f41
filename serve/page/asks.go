package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"

	"c2c/inbox/mail"
	"c2c/serve/live"
	"c2c/sessions/permission"
)

// ask is a tool call that waits for a person. Package permission has already shortened its text and
// made control characters visible.
type ask struct {
	ID      string             `json:"id"`
	Session string             `json:"session"`
	Alias   string             `json:"alias"`
	Tool    string             `json:"tool"`
	About   string             `json:"about,omitempty"`
	Input   string             `json:"input,omitempty"`
	Partial bool               `json:"partial,omitempty"` // only a part of the tool's input is shown
	Fields  []permission.Field `json:"fields,omitempty"`  // the input, field by field
	Since   int64              `json:"since"`
	Until   int64              `json:"until"`
}

// followAsks calls the function show with the open requests of a root: at once and after each
// change, until ctx ends or the call fails.
func followAsks(ctx context.Context, list *live.RequestList, show func([]ask) error) error {
	var before []ask
	for {
		all, changed := list.Now()
		if open := openAsks(all); before == nil || !reflect.DeepEqual(open, before) {
			if err := show(open); err != nil {
				return err
			}
			before = open
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func openAsks(all []permission.Request) []ask {
	open := []ask{}
	for _, r := range all {
		if r.State == permission.StateOpen {
			open = append(open, ask{ID: r.ID, Session: r.Session, Alias: visible(r.Alias), Tool: visible(r.Tool), About: mail.Visible(r.Description, "\n\t"),
				Input: mail.Visible(r.Input, "\n\t"), Partial: r.Partial, Fields: r.Fields(), Since: milli(mail.FromSeconds(r.AskedAt)), Until: milli(mail.FromSeconds(r.ExpiresAt))})
		}
	}
	return open
}

// decide writes the person's verdict on a request. The page names the request by its id and its
// session, because two sessions may use the same id.
func (p *Page) decide(c *call) (any, error) {
	var asked struct {
		ID      string `json:"id"`
		Session string `json:"session"`
		Allow   *bool  `json:"allow"`
		Partial bool   `json:"partial"` // the person decides although a part of the input is not shown
	}
	me, err := c.asks(&asked)
	if err != nil {
		return nil, err
	}
	if asked.Allow == nil || asked.Session == "" || asked.ID == "" {
		return nil, wrong("want id, session and allow of a permission request")
	}
	v := permission.Verdict{Allow: *asked.Allow, Partial: asked.Partial, By: cmp.Or(me.Alias, me.ID), Via: "page", Proof: "login", Sessions: []string{asked.Session}}
	r, err := c.open.Permission.Decide(c, asked.ID, v)
	var decided *permission.DecidedError
	if errors.Is(err, permission.ErrUnknown) || errors.Is(err, permission.ErrPartial) || errors.As(err, &decided) {
		return nil, refusal{http.StatusConflict, err}
	}
	if err != nil {
		return nil, err
	}
	return map[string]string{"state": string(r.State)}, nil
}
