package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"c2c/wake"
)

// limits are the times that Ring observes.
type limits struct {
	person time.Duration // how long the person must have pressed no key
	still  time.Duration // how long the client must have drawn nothing
	settle time.Duration // how long a ring waits for the client to stop drawing
	answer time.Duration // how long the client may take to show a paste, and to take Enter
}

var usual = limits{person: 3 * time.Second, still: 250 * time.Millisecond, settle: time.Second, answer: 2 * time.Second}

// screenWriter updates the screen with all output of the client.
type screenWriter struct{ t *Terminal }

func (p screenWriter) Write(b []byte) (int, error) {
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

// keyboard passes the person's keys to the client. While Ring types, the keys wait.
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

// Ring types the text of n into the client's prompt; see Type.
func (t *Terminal) Ring(ctx context.Context, n wake.Notice) error {
	if n.Joins {
		return t.typeLine(ctx, typist{t: t, enter: JoinKey(t.client), joins: true}, JoinPrompt, n.Text(n.What()))
	}
	t.waitUntilStill(ctx)
	if n.IsRead() {
		return wake.ErrRead
	}
	return t.typeLine(ctx, typist{t: t, enter: "\r"}, Prompt, n.Text(n.What()))
}

// waitUntilStill waits until the client stops drawing, but at most limits.settle. If Ring did not
// wait, it would return an error, and c2c would try again only two seconds later.
func (t *Terminal) waitUntilStill(ctx context.Context) {
	for end := time.Now().Add(t.limits.settle); ctx.Err() == nil && time.Now().Before(end); {
		t.mu.Lock()
		left := t.limits.still - time.Since(t.drawn)
		t.mu.Unlock()
		if left <= 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(left):
		}
	}
}

// typeLine makes p type a line into the client's prompt. The function read returns the draft in the
// prompt.
func (t *Terminal) typeLine(ctx context.Context, p typist, read func(string, *Screen) (string, error), line string) error {
	select {
	case t.keys <- struct{}{}:
		defer func() { <-t.keys }()
	case <-time.After(t.limits.answer):
		return fmt.Errorf("%w: it does not read the person's keys", wake.ErrHeld)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", wake.ErrHeld, ctx.Err())
	}
	prompt := func(s *Screen) (string, error) { return read(t.client, s) }
	return Type(ctx, p, prompt, line, t.limits.answer)
}

// Types reports whether c2c knows how the client draws its prompt. Only then can c2c type there.
func (t *Terminal) Types() bool { return KnowsPrompt(t.client) }

// Joins reports whether c2c can type a line that joins the running turn.
func (t *Terminal) Joins() bool { return JoinKey(t.client) != "" }

// typist types into the terminal for Type. The caller holds the lock Terminal.keys.
type typist struct {
	t     *Terminal
	enter string // the key that sends the line
	joins bool   // the line joins a running turn, during which the client draws all the time
}

// Idle implements Typewriter.
func (p typist) Idle(ctx context.Context) error {
	t := p.t
	t.mu.Lock()
	defer t.mu.Unlock()
	switch now := time.Now(); {
	case t.ended:
		return fmt.Errorf("%w: it has ended", wake.ErrUnreachable)
	case ctx.Err() != nil:
		return ctx.Err()
	case now.Sub(t.pressed) < t.limits.person:
		return errors.New("the person is typing")
	case !p.joins && now.Sub(t.drawn) < t.limits.still:
		return errors.New("the client is drawing")
	}
	mode, err := unix.IoctlGetTermios(t.fd(), getTermios)
	if err != nil {
		return err
	}
	if mode.Lflag&unix.ICANON != 0 {
		return errors.New("no client reads the terminal")
	}
	front, err := unix.IoctlGetInt(t.fd(), unix.TIOCGPGRP)
	if err == nil && front != t.pid {
		err = errors.New("another program has the terminal")
	}
	return err
}

// Look implements Typewriter.
func (p typist) Look(_ context.Context, see func(*Screen)) error {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	see(p.t.screen)
	return nil
}

// Wait implements Typewriter.
func (p typist) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.t.drew:
		return nil
	}
}

// Paste implements Typewriter.
func (p typist) Paste(_ context.Context, text string) error {
	return p.write("\x1b[200~" + text + "\x1b[201~")
}

// Enter implements Typewriter.
func (p typist) Enter(context.Context) error { return p.write(p.enter) }

// write types into the client's terminal. If the client does not read, write gives up after
// limits.answer.
func (p typist) write(text string) error {
	m := p.t.master
	if err := m.SetWriteDeadline(time.Now().Add(p.t.limits.answer)); err != nil {
		return err
	}
	defer m.SetWriteDeadline(time.Time{})
	_, err := m.Write([]byte(text))
	return err
}
