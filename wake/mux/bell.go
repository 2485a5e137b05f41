package mux

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/wake"
	"c2c/wake/screen"
)

const (
	quiet   = 2 * time.Second        // since a key was typed
	between = 150 * time.Millisecond // between two looks; Gemini loses an Enter within 100 ms of a paste
	looks   = 10                     // at a client that has not drawn yet
)

// Bell rings one client.
type Bell struct {
	Pane    Pane
	Client  string // its name, by which package screen knows its prompt
	Process int    // its process
	Getenv  func(string) string
	// LookPath finds tmux or screen.
	LookPath func(name string, getenv func(string) string) (path string, err error)

	now    func() time.Time
	wait   func(context.Context, time.Duration) error
	prompt func(client string, s *screen.Screen) (draft string, err error) // screen.Prompt
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
	if b.prompt == nil {
		b.prompt = screen.Prompt
	}
	t, err := b.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := b.idle(ctx, t); err != nil {
		return mark(wake.ErrHeld, err)
	}
	text := n.Sentinel("poll mcp__c2c__poll_inbox")
	if err := t.paste(ctx, text); err != nil {
		return mark(wake.ErrUncaptured, err)
	}
	if err := b.until(ctx, t, func(v view) error {
		draft, err := b.draft(v)
		if err == nil && !screen.Same(draft, text) {
			err = errors.New("the line does not stand alone in its prompt")
		}
		return err
	}); err != nil {
		return mark(wake.ErrUncaptured, fmt.Errorf("pasted, and not sent: %w", err))
	}
	if err := t.enter(ctx); err != nil {
		return mark(wake.ErrUncaptured, err)
	}
	return mark(wake.ErrUncaptured, b.until(ctx, t, func(v view) error {
		if draft, _ := b.draft(v); screen.Same(draft, text) {
			return errors.New("the line stays in its prompt")
		}
		return nil // a turn, or an empty prompt: either way the line has left it
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
	path, err := b.LookPath(b.Pane.Kind, b.Getenv)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
	case b.Pane.Kind == Screen:
		return newScreen(path, b.Getenv("SCREENDIR"), b.Pane, b.Process)
	}
	return newTmux(path, b.Pane, b.Process), nil
}

// idle fails unless the client shows its empty prompt and nobody types to it.
func (b *Bell) idle(ctx context.Context, t terminal) error {
	first, left, err := b.sample(ctx, t)
	if err == nil && left > 0 { // wait for that once
		if err = b.wait(ctx, left); err == nil {
			first, left, err = b.sample(ctx, t)
		}
	}
	var v view
	if err == nil && left <= 0 {
		if err = b.wait(ctx, between); err == nil {
			v, left, err = b.sample(ctx, t)
		}
	}
	switch {
	case err != nil:
		return err
	case left > 0:
		return errors.New("somebody types")
	case !v.equal(first):
		return errors.New("its screen moves")
	}
	draft, err := b.draft(v)
	if err == nil && draft != "" {
		err = errors.New("a draft stands in its prompt")
	}
	return err
}

// draft is what a person has typed into the client's prompt.
func (b *Bell) draft(v view) (string, error) {
	return b.prompt(b.Client, screen.Captured(v.drawn, v.row, v.col))
}

// sample returns what the pane shows, and how much is left of the time without a key.
func (b *Bell) sample(ctx context.Context, t terminal) (view, time.Duration, error) {
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
	return v, typed.Add(quiet).Sub(b.now()), nil
}

// until looks now and then, while seen fails.
func (b *Bell) until(ctx context.Context, t terminal, seen func(view) error) (err error) {
	for range looks {
		if err := b.wait(ctx, between); err != nil {
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
