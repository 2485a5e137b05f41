package mux

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/wake"
)

const (
	hush   = 2 * time.Second        // since a key was typed
	moment = 150 * time.Millisecond // between two looks; Gemini loses an Enter within 100 ms of a paste
	looks  = 10                     // at a client that has not drawn yet
)

// Bell rings one client.
type Bell struct {
	Pane   Pane
	Client int // its process
	// Idle returns nil when the screen shows the client's idle prompt with nothing typed, and the cursor
	// there, from 0. The lines have no control characters but in the sequences for colours, by which a hint
	// is told from a draft. Of screen they have no colours, and other characters (screen.go).
	Idle   func(lines []string, row, col int) error
	Getenv func(string) string

	path string // of tmux or screen
	now  func() time.Time
	wait func(context.Context, time.Duration) error
}

// terminal is a pane.
type terminal interface {
	// look returns what the pane shows, and the latest time at which the client may have read a key. It
	// fails when a key would not reach the client.
	look(context.Context) (view, time.Time, error)
	// typed is when a person may have typed last, as far as the multiplexer tells.
	typed(context.Context) (time.Time, error)
	// paste types text, as a paste.
	paste(ctx context.Context, text string) error
	// enter presses Enter.
	enter(context.Context) error
	close() error
}

// Ring implements wake.Doorbell. It may wait for ten seconds after a key. With wake.ErrHeld nothing was typed.
func (b *Bell) Ring(ctx context.Context, n wake.Notice) (err error) {
	if b.now == nil {
		b.now = time.Now
	}
	if b.wait == nil {
		b.wait = pause
	}
	t, err := b.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	before, err := b.idle(ctx, t)
	if err != nil {
		return mark(wake.ErrHeld, err)
	}
	text := n.Sentinel("poll mcp__c2c__poll_inbox")
	if err := t.paste(ctx, text); err != nil {
		return mark(wake.ErrUncaptured, err)
	}
	if err := b.until(ctx, t, func(v view) error { return b.stands(v, before, text) }); err != nil {
		return mark(wake.ErrUncaptured, fmt.Errorf("pasted, and not sent: %w", err))
	}
	if err := t.enter(ctx); err != nil {
		return mark(wake.ErrUncaptured, err)
	}
	return mark(wake.ErrUncaptured, b.until(ctx, t, func(v view) error {
		if _, still := v.typed(text, before); still {
			return errors.New("the line stays in its input")
		}
		return nil
	}))
}

// mark gives an error its kind, if it has none.
func mark(kind, err error) error {
	if err == nil || errors.Is(err, wake.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

func (b *Bell) open() (terminal, error) {
	if err := b.Pane.valid(); err != nil {
		return nil, fmt.Errorf("%w: pane %.200q: %v", wake.ErrUnreachable, b.Pane.String(), err)
	}
	if b.path == "" {
		path, err := find(b.Pane.Kind, b.Getenv("PATH"))
		if err != nil {
			return nil, err
		}
		b.path = path
	}
	if b.Pane.Kind == Screen {
		return newScreen(b.path, b.Getenv("SCREENDIR"), b.Pane, b.Client)
	}
	return newTmux(b.path, b.Pane, b.Client), nil
}

// idle returns what an idle client shows that nobody types to.
func (b *Bell) idle(ctx context.Context, t terminal) (v view, err error) {
	first, left, err := b.glance(ctx, t)
	if err == nil && left > 0 { // wait for that once
		if err = b.wait(ctx, left); err == nil {
			first, left, err = b.glance(ctx, t)
		}
	}
	if err == nil && left <= 0 {
		if err = b.wait(ctx, moment); err == nil {
			v, left, err = b.glance(ctx, t)
		}
	}
	switch {
	case err != nil:
		return v, err
	case left > 0:
		return v, errors.New("somebody types")
	case !v.equal(first):
		return v, errors.New("its screen moves")
	}
	if err := b.Idle(v.drawn, v.row, v.col); err != nil {
		return v, fmt.Errorf("no idle prompt on its screen: %w", err)
	}
	return v, nil
}

// glance returns what the pane shows, and how much of the hush is left.
func (b *Bell) glance(ctx context.Context, t terminal) (view, time.Duration, error) {
	v, read, err := t.look(ctx)
	if err != nil {
		return v, 0, err
	}
	typed, err := t.typed(ctx)
	if err != nil {
		return v, 0, err
	}
	if read.After(typed) {
		typed = read
	}
	return v, typed.Add(hush).Sub(b.now()), nil
}

// until looks now and then, while seen fails.
func (b *Bell) until(ctx context.Context, t terminal, seen func(view) error) (err error) {
	for range looks {
		if err := b.wait(ctx, moment); err != nil {
			return err
		}
		v, _, lookErr := t.look(ctx)
		if lookErr != nil {
			return lookErr
		}
		if err = seen(v); err == nil {
			return nil
		}
	}
	return err
}

// stands fails unless the text stands in the input and the client would be idle without it.
func (b *Bell) stands(v, before view, text string) error {
	rest, ok := v.typed(text, before)
	if !ok {
		return errors.New("the line is not in its input")
	}
	if err := b.Idle(rest.drawn, rest.row, rest.col); err != nil {
		return fmt.Errorf("something came with the line: %w", err)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
