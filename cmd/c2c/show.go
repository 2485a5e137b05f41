package main

import (
	"context"
	"errors"
	"time"

	"c2c/broker"
	"c2c/hooks"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake"
)

// shower puts mail into the answer to an event.
type shower struct {
	*event

	out      hooks.Answer
	onStderr bool     // the client reads the answer from standard error
	wrote    bool     // the client has the answer
	shown    []string // the ids of all messages in the answer
}

// showMail shows mail, or asks the client to watch the mailbox.
func (e *event) showMail(ctx context.Context) error {
	e.Now = time.Now()
	if err := e.findCarried(ctx); err != nil {
		return err
	}
	h := &shower{event: e}
	if e.Watches() {
		return h.watch()
	}
	news := e.addNews(ctx)
	err := h.handOver(ctx)
	if h.wrote && (err == nil || errors.Is(err, ErrOnStderr)) {
		e.warn(news.Seen(ctx))
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
	for _, id := range e.s.Unseen() {
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

// handOver shows the waiting mail, and records what the client has got.
func (h *shower) handOver(ctx context.Context) error {
	err := h.b.HandOver(ctx, h.s, broker.Reader{
		By: sessions.ByHook, Limit: int64(4 * h.Limit()), Often: h.Often(), Holds: h.Holds(), Render: h.render, Write: h.write,
	})
	switch {
	case err != nil:
		return err
	case h.TellsLater():
		err = h.b.Facts.ChangeUnseen(ctx, h.s.ID, h.s.Unseen(), nil)
	case h.Untold():
		err = h.b.Facts.ChangeUnseen(ctx, h.s.ID, nil, h.shown)
	}
	if h.onStderr {
		return ErrOnStderr
	}
	return err
}

// watch asks the client to watch the mailbox. It shows no mail: at this event, before any prompt,
// mail in the answer starts no turn. Later a ring wakes the session.
func (h *shower) watch() error {
	box, err := h.b.Mailbox(h.s.ID)
	if err != nil {
		return err
	}
	if h.Watch, err = h.b.Locks.Watchable(box.LockName()); err != nil {
		return err
	}
	if _, _, err := h.render(nil, false); err != nil {
		return err
	}
	return h.write()
}

// render makes the answer. shown and announced are indexes into msgs.
func (h *shower) render(msgs []mail.Message, more bool) (shown, announced []int, err error) {
	h.out, err = hooks.Render(h.Event, msgs, more)
	for _, i := range h.out.Shown {
		h.shown = append(h.shown, msgs[i].ID)
	}
	return h.out.Shown, h.out.Announced, err
}

// write writes the answer to the client.
func (h *shower) write() error {
	if len(h.out.Shown) > 0 {
		h.expectAnswers()
	}
	h.onStderr = h.OnError() && h.out.Output != nil
	err := h.Show(h.out.Output, h.OnError())
	h.wrote = err == nil
	return err
}
