package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/internal/proc"
	"c2c/wake"
)

const (
	sinceKey = 2 * time.Second        // how long the person must have pressed no key
	between  = 150 * time.Millisecond // the time between two checks of the screen; Gemini CLI loses an Enter within 100 ms after a paste
	shown    = 10 * between           // how long the client may take to draw a paste
)

// PaneDoorbell rings one client.
type PaneDoorbell struct {
	Pane    Pane
	Client  string // the client's name, by which c2c knows how the client draws its prompt
	Process int    // the client's process
	Getenv  func(string) string

	now    func() time.Time
	wait   func(context.Context, time.Duration) error
	prompt func(*Screen) (draft string, err error)
	answer time.Duration // how long the client may take to draw a paste; 0: the constant shown
}

// muxTypist types into a pane for Type.
type muxTypist struct {
	*PaneDoorbell
	*tmux
}

// Ring types the text of n into the client's prompt; see Type. After a person's key, Ring may wait
// ten seconds: see foreground.
func (b *PaneDoorbell) Ring(ctx context.Context, n wake.Notice) error {
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
	prompt := b.prompt
	if prompt == nil {
		prompt = func(s *Screen) (string, error) { return Prompt(b.Client, s) }
	}
	if n.IsRead() {
		return wake.ErrRead
	}
	return Type(ctx, muxTypist{b, t}, prompt, n.Text(wake.Poll), cmp.Or(b.answer, shown))
}

func (b *PaneDoorbell) open() (*tmux, error) {
	if err := b.Pane.valid(); err != nil {
		return nil, fmt.Errorf("%w: pane %.200q: %v", wake.ErrUnreachable, b.Pane.String(), err)
	}
	path, err := proc.LookPath("tmux", b.Getenv)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
	}
	return &tmux{path, b.Pane, b.Process}, nil
}

// Idle implements Typewriter.
func (t muxTypist) Idle(ctx context.Context) error {
	first, left, err := t.sample(ctx)
	if err == nil && left > 0 { // wait once for the rest of sinceKey
		if err = t.wait(ctx, left); err == nil {
			first, left, err = t.sample(ctx)
		}
	}
	var now *Screen
	if err == nil && left <= 0 {
		if err = t.wait(ctx, between); err == nil {
			now, left, err = t.sample(ctx)
		}
	}
	switch {
	case err != nil:
		return err
	case left > 0:
		return errors.New("somebody types")
	case !now.Same(first):
		return errors.New("its screen moves")
	}
	return nil
}

// sample returns the pane's screen, and the time until the person's last key is old enough.
func (t muxTypist) sample(ctx context.Context) (*Screen, time.Duration, error) {
	s, typed, err := t.look(ctx)
	return s, typed.Add(sinceKey).Sub(t.now()), err
}

// Look implements Typewriter.
func (t muxTypist) Look(ctx context.Context, see func(*Screen)) error {
	s, _, err := t.look(ctx)
	if err == nil {
		see(s)
	}
	return err
}

// Wait implements Typewriter.
func (t muxTypist) Wait(ctx context.Context) error {
	return errors.Join(t.wait(ctx, between), ctx.Err())
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
