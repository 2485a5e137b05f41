package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"c2c/wake"
)

// Typewriter is the terminal of a client, into which Type types.
type Typewriter interface {
	// Idle returns nil if the person types nothing, the screen does not change, and a key would
	// reach the client. Otherwise the error gives the reason.
	Idle(context.Context) error
	// Look calls the function see with the present screen.
	Look(ctx context.Context, see func(*Screen)) error
	// Wait returns nil when the screen may have changed, and an error when ctx has ended.
	Wait(context.Context) error
	// Paste types text as a paste.
	Paste(ctx context.Context, text string) error
	// Enter presses Enter.
	Enter(context.Context) error
}

// Type types a line into a client's prompt, as a person would, and presses Enter. It is the last
// resort: in all clients that c2c knows, an Enter approves an open dialog. So Type types only into
// an empty prompt that waits for input, while neither the person nor the client is active. It
// presses Enter only if the prompt shows nothing but the line. The function prompt reads the
// prompt, as Prompt does. The argument answer is how long the client may take to show the line, and
// then to take Enter.
//
// Type returns wake.ErrHeld if it has typed nothing, and wake.ErrUncaptured if it has typed, but
// the client did not take the line. A line that was pasted and not sent stays in the prompt as a
// draft. The next call of Type does not paste the line again, but presses Enter when the prompt
// waits for input. If line is the text of a ring and the prompt still shows the text of an earlier
// ring, Type sends the earlier text: it is still true that mail waits.
func Type(ctx context.Context, t Typewriter, prompt func(*Screen) (draft string, err error), line string, answer time.Duration) error {
	pasted, err := idle(ctx, t, prompt, line)
	if err != nil {
		return mark(wake.ErrHeld, err)
	}
	if pasted != "" {
		line = pasted
	}
	// await waits until the function wanted returns nil for the prompt.
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
			if err == nil && !SameText(draft, line) {
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
		if SameText(draft, line) {
			return errors.New("the line stays in its prompt")
		}
		return nil // a turn, or an empty prompt: in both cases the client took the line
	}))
}

// pasteTime is the time between a paste and Enter. If an Enter comes within a tenth of a second
// after a paste, Gemini CLI takes it for a part of the paste.
const pasteTime = 300 * time.Millisecond

// waitAfterPaste waits for pasteTime. Then it calls the function wanted with the screen, and
// returns its error.
func waitAfterPaste(ctx context.Context, t Typewriter, wanted func(*Screen) error) (err error) {
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

// idle returns an error if Type must not type now. If the prompt already shows the line, or an
// earlier ring in place of a ring, idle returns the text in the prompt, and Type only presses
// Enter.
func idle(ctx context.Context, t Typewriter, prompt func(*Screen) (string, error), line string) (pasted string, err error) {
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
	case SameText(draft, line), isNotice(draft) && isNotice(line):
		return draft, nil
	}
	return "", errors.New("a draft stands in its prompt")
}

// mark wraps err in the error kind, unless err is wake.ErrUnreachable.
func mark(kind, err error) error {
	if err == nil || errors.Is(err, wake.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}
