package main

import (
	"context"
	"time"

	"c2c/broker"
	"c2c/hooks"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
)

// showMail shows mail, or asks the client to watch the mailbox.
func (e *event) showMail(ctx context.Context) error {
	e.Now = time.Now()
	if err := e.findCarried(ctx); err != nil {
		return err
	}
	if e.Watches() {
		return e.watch()
	}
	news := e.addNews(ctx)
	var wrote *hooks.Answer // the answer that the client has
	var shown []string      // the ids of all messages in the answer
	err := e.b.HandOver(ctx, e.s, broker.Reader{
		By: inbox.ByHook, Limit: int64(4 * e.Limit()), Often: e.Often(), Holds: e.Holds(),
		Render: func(msgs []mail.Message, more bool) (broker.Rendered, error) {
			out, err := hooks.Render(e.Event, msgs, more)
			for _, i := range out.Shown {
				shown = append(shown, msgs[i].ID)
			}
			return broker.Rendered{Shown: out.Shown, Announced: out.Announced, Write: func() error {
				if len(shown) > 0 {
					e.expectAnswers()
				}
				err := e.showHook(out.Output, e.OnError())
				if err == nil {
					wrote = &out
				}
				return err
			}}, err
		},
	})
	switch {
	case err != nil:
		return err
	case e.TellsLater():
		err = e.b.Facts.ChangeUnseen(ctx, e.s.ID, e.s.Unseen, nil)
	case e.Untold():
		err = e.b.Facts.ChangeUnseen(ctx, e.s.ID, nil, shown)
	}
	if wrote == nil {
		return err
	}
	onStderr := e.OnError() && wrote.Output != nil
	if err == nil || onStderr {
		e.warn(news.Seen(ctx))
	}
	if onStderr {
		return errOnStderr
	}
	return err
}

// findCarried finds mail that the model has, but that the client's person has not seen yet.
func (e *event) findCarried(ctx context.Context) error {
	if !e.CarriesMail() && !e.tellsUnseen() {
		return nil
	}
	box, err := e.b.Mailbox(e.s.ID)
	if err != nil {
		return err
	}
	if e.CarriesMail() {
		e.Carried, err = box.Held(ctx, wake.ByServer)
		return err
	}
	for _, id := range e.s.Unseen {
		found, err := box.Find(ctx, id)
		if err != nil {
			return err
		}
		for _, f := range found {
			e.Carried = append(e.Carried, f.Message)
		}
	}
	return nil
}

// watch asks the client to watch the mailbox. It shows no mail: at this event, before any prompt,
// mail in the answer starts no turn. Later a ring wakes the session.
func (e *event) watch() error {
	box, err := e.b.Mailbox(e.s.ID)
	if err != nil {
		return err
	}
	if e.Watch, err = e.b.Locks.Watchable(box.LockName()); err != nil {
		return err
	}
	out, err := hooks.Render(e.Event, nil, false)
	if err != nil {
		return err
	}
	return e.showHook(out.Output, e.OnError())
}
