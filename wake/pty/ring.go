package pty

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"c2c/wake"
	"c2c/wake/screen"
)

// limits are the times that Ring keeps.
type limits struct {
	person time.Duration // no key for as long
	quiet  time.Duration // nothing drawn for as long
	answer time.Duration // within which the client shows what was pasted, and takes Enter
}

var patient = limits{person: 3 * time.Second, quiet: 300 * time.Millisecond, answer: 2 * time.Second}

// picture keeps the screen in step with what the person sees.
type picture struct{ t *Terminal }

func (p picture) Write(b []byte) (int, error) {
	t := p.t
	t.mu.Lock()
	t.screen.Write(b)
	t.drawn = time.Now()
	t.mu.Unlock()
	select {
	case t.drew <- struct{}{}:
	default:
	}
	return len(b), nil
}

// keyboard passes the person's keys on. While Ring types, they wait.
type keyboard struct{ t *Terminal }

func (k keyboard) Write(b []byte) (int, error) {
	t := k.t
	t.mu.Lock()
	t.pressed = time.Now()
	t.mu.Unlock()
	t.keys <- struct{}{}
	defer func() { <-t.keys }()
	return t.master.Write(b)
}

// Ring types the notice into the client's prompt, as a person would, and presses Enter. It is the last way
// to a client, for in each that was measured Enter approves what an open dialog asks about. So it types only
// into an empty prompt that package screen recognises, when neither the person nor the client does anything,
// and presses Enter only when the prompt shows the notice and nothing else. Otherwise: wake.ErrHeld when
// nothing was typed, wake.ErrUncaptured when something was.
func (t *Terminal) Ring(ctx context.Context, n wake.Notice) error {
	text := n.Sentinel("poll mcp__c2c__poll_inbox")
	ctx, cancel := context.WithTimeout(ctx, 2*t.limits.answer)
	defer cancel()
	select {
	case t.keys <- struct{}{}:
		defer func() { <-t.keys }()
	case <-ctx.Done():
		return fmt.Errorf("%w: it does not read the person's keys", wake.ErrHeld)
	}
	if err := t.clear(ctx); errors.Is(err, wake.ErrUnreachable) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", wake.ErrHeld, err)
	}
	if err := t.write("\x1b[200~" + text + "\x1b[201~"); err != nil {
		return fmt.Errorf("%w: %w", wake.ErrUncaptured, err)
	}
	if err := t.shows(ctx, func(draft string, err error) bool { return err == nil && screen.Same(draft, text) }); err != nil {
		return fmt.Errorf("%w: its prompt does not show what was pasted", wake.ErrUncaptured)
	}
	if err := t.write("\r"); err != nil {
		return fmt.Errorf("%w: %w", wake.ErrUncaptured, err)
	}
	// A turn or an empty prompt: either way the notice has left it.
	if err := t.shows(ctx, func(draft string, err error) bool { return !screen.Same(draft, text) }); err != nil {
		return fmt.Errorf("%w: it did not take Enter", wake.ErrUncaptured)
	}
	return nil
}

// clear says why nothing may be typed now.
func (t *Terminal) clear(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch now := time.Now(); {
	case t.ended:
		return fmt.Errorf("%w: it has ended", wake.ErrUnreachable)
	case ctx.Err() != nil:
		return ctx.Err()
	case now.Sub(t.pressed) < t.limits.person:
		return errors.New("the person is typing")
	case now.Sub(t.drawn) < t.limits.quiet:
		return errors.New("the client is drawing")
	}
	err := t.control(func(fd int) error {
		mode, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return err
		}
		if mode.Lflag&unix.ICANON != 0 {
			return errors.New("no client reads the terminal")
		}
		front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err == nil && front != t.pid {
			err = errors.New("another program has the terminal")
		}
		return err
	})
	if err != nil {
		return err
	}
	return screen.Idle(t.client, t.screen)
}

// write types into the client's terminal; a client that does not read is not waited for.
func (t *Terminal) write(text string) error {
	if err := t.master.SetWriteDeadline(time.Now().Add(t.limits.answer)); err != nil {
		return err
	}
	defer t.master.SetWriteDeadline(time.Time{})
	_, err := t.master.Write([]byte(text))
	return err
}

// shows waits until the prompt is as wanted.
func (t *Terminal) shows(ctx context.Context, wanted func(draft string, err error) bool) error {
	for {
		t.mu.Lock()
		draft, err := screen.Prompt(t.client, t.screen)
		t.mu.Unlock()
		if wanted(draft, err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.drew:
		}
	}
}
