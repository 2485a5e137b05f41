package terminal

import (
	"context"
	"fmt"

	"c2c/inbox/mail"
	"c2c/wake"
)

// Carry types the whole first message; Ring types only the text of a ring. Carry is for a client
// that has no tools of c2c. The only proof that the client has the message is that the line stood
// alone in the prompt, and is gone after Enter. If the prompt may be too small to show the whole
// message, Carry types the text of a ring.
func (t *Terminal) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	line, p := TypedMail(t.client, msgs[0]), typist{t: t, enter: "\r"}
	t.mu.Lock()
	fits, stood := t.screen.Fits(line), t.pastedAlone == line
	t.mu.Unlock()
	if !fits {
		return nil, t.typeLine(ctx, p, Prompt, wake.NoticeOf(msgs).Text("run: c2c poll-inbox"))
	}
	gone := false
	if stood { // c2c has no proof that the client took the line; if it is gone now (taken, or removed by the person), do not type it again
		if gone, err = p.isWithout(ctx, line); err != nil {
			return nil, fmt.Errorf("%w: %w", wake.ErrHeld, err)
		}
	}
	if !gone {
		err = t.typeLine(ctx, p, func(client string, s *Screen) (string, error) {
			draft, err := Prompt(client, s)
			if err == nil && SameText(draft, line) {
				t.pastedAlone = line // Look holds t.mu
			}
			return draft, err
		}, line)
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pastedAlone = "" // another message may have the same words and id
	return []string{msgs[0].Handle()}, nil
}

// isWithout reports whether the prompt waits for input and does not show the given line.
func (p typist) isWithout(ctx context.Context, line string) (without bool, err error) {
	if err := p.Idle(ctx); err != nil {
		return false, err
	}
	lerr := p.Look(ctx, func(s *Screen) {
		var draft string
		draft, err = Prompt(p.t.client, s)
		without = err == nil && !SameText(draft, line)
	})
	if lerr != nil {
		err = lerr
	}
	return without, err
}
