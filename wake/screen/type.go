package screen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/wake"
)

// Terminal is where a client runs, as somebody who may type into it sees it.
type Terminal interface {
	// Idle fails unless nobody types, the picture is still, and a key would reach the client.
	Idle(context.Context) error
	// Look has see look at what it shows.
	Look(ctx context.Context, see func(*Screen)) error
	// Wait returns when the picture may be another one, or ctx ends.
	Wait(context.Context) error
	// Paste types text, as a paste.
	Paste(ctx context.Context, text string) error
	// Enter presses Enter.
	Enter(context.Context) error
}

// Type types a line into a client's prompt, as a person would, and presses Enter. It is the last way to a client,
// for in each that was measured Enter approves what an open dialog asks about. So it types only into an empty
// prompt that waits, when neither the person nor the client does anything, and presses Enter only when the prompt
// shows the line and nothing else. prompt reads it, as Prompt does; answer is how long the client may take to show
// the line, and to take Enter. Otherwise: wake.ErrHeld when nothing was typed, wake.ErrUncaptured when something was. A line that was pasted and
// not sent stays in the prompt as a draft, and so is never pasted twice: Enter sends it when the prompt waits. So it is with a
// notice for earlier mail, in place of the next one: what it says is as true.
func Type(ctx context.Context, t Terminal, prompt func(*Screen) (draft string, err error), line string, answer time.Duration) error {
	pasted, err := idle(ctx, t, prompt, line)
	if err != nil {
		return mark(wake.ErrHeld, err)
	}
	if pasted != "" {
		line = pasted
	}
	// await waits until the prompt is as wanted.
	await := func(wanted func(draft string, err error) error) error {
		ctx, cancel := context.WithTimeout(ctx, answer)
		defer cancel()
		for reason := errors.New("the client drew nothing"); ; {
			if t.Wait(ctx) != nil {
				return reason
			}
			err := t.Look(ctx, func(s *Screen) { reason = wanted(prompt(s)) })
			if err != nil && ctx.Err() == nil {
				return err
			}
			if err == nil && reason == nil {
				return nil
			}
		}
	}
	if pasted == "" {
		if err := t.Paste(ctx, line); err != nil {
			return mark(wake.ErrUncaptured, err)
		}
		alone := func(draft string, err error) error {
			if err == nil && !Same(draft, line) {
				err = errors.New("the line does not stand alone in its prompt")
			}
			return err
		}
		err := await(alone)
		if err == nil {
			err = waitAfterPaste(ctx, t, func(s *Screen) error { return alone(prompt(s)) })
		}
		if err != nil {
			return mark(wake.ErrUncaptured, fmt.Errorf("pasted, and not sent: %w", err))
		}
	}
	if err := t.Enter(ctx); err != nil {
		return mark(wake.ErrUncaptured, err)
	}
	return mark(wake.ErrUncaptured, await(func(draft string, _ error) error {
		if Same(draft, line) {
			return errors.New("the line stays in its prompt")
		}
		return nil // a turn, or an empty prompt: either way the line has left it
	}))
}

// pasteTime is the time between a paste and Enter. A client that was measured takes an Enter within a tenth of a second for a
// part of the paste.
const pasteTime = 300 * time.Millisecond

// waitAfterPaste waits for that time, and fails if the screen is not as wanted then.
func waitAfterPaste(ctx context.Context, t Terminal, wanted func(*Screen) error) (err error) {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pasteTime):
	}
	if lerr := t.Look(ctx, func(s *Screen) { err = wanted(s) }); lerr != nil {
		return lerr
	}
	return err
}

// idle says why nothing may be typed now, or what stands in the prompt already and can be sent in place of the line.
func idle(ctx context.Context, t Terminal, prompt func(*Screen) (string, error), line string) (pasted string, err error) {
	if err := t.Idle(ctx); err != nil {
		return "", err
	}
	var draft string
	if lerr := t.Look(ctx, func(s *Screen) { draft, err = prompt(s) }); lerr != nil {
		return "", lerr
	}
	switch {
	case err != nil || draft == "":
		return "", err
	case Same(draft, line), isNotice(draft) && isNotice(line):
		return draft, nil
	}
	return "", errors.New("a draft stands in its prompt")
}

// mark gives an error its kind, if it has none.
func mark(kind, err error) error {
	if err == nil || errors.Is(err, wake.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}
