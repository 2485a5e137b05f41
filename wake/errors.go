package wake

import "errors"

var (
	// ErrUncaptured: the client is there, but did not take the ring; it may take a later one.
	ErrUncaptured = errors.New("client does not take a ring now")
	// ErrHeld is ErrUncaptured before c2c has sent anything: c2c should not disturb the client for a moment.
	ErrHeld error = &heldError{"client does not take a ring now: held back", ErrUncaptured}
	// ErrAway is ErrHeld because no terminal shows the session: no person would see what a ring starts.
	ErrAway error = &heldError{"no terminal shows the session: its mail waits until one does", ErrHeld}
	// ErrRefused is ErrUncaptured because the client's person does not let other sessions write to it.
	ErrRefused error = &heldError{"client refuses", ErrUncaptured}
	// ErrConsent is ErrUncaptured because the client holds what it got until its person accepts it.
	ErrConsent error = &heldError{"client asks its person first", ErrUncaptured}
	// ErrLives: the session runs, and does not read its history again.
	ErrLives = errors.New("a session that runs does not read its history: send it a message")
	// ErrUnreachable: there is no client behind this method, so another method should be tried.
	ErrUnreachable = errors.New("client cannot be reached this way")
)

// heldError costs nothing at the start of a hook, unlike fmt.Errorf.
type heldError struct {
	text string
	kind error
}

func (e *heldError) Error() string { return e.text }

func (e *heldError) Unwrap() error { return e.kind }

// OutcomeOf returns the outcome to record for a ring's error.
func OutcomeOf(err error) string {
	switch {
	case err == nil:
		return Rang
	case errors.Is(err, ErrAway):
		return Away
	case errors.Is(err, ErrRefused):
		return Refused
	case errors.Is(err, ErrConsent):
		return Held
	case errors.Is(err, ErrUncaptured):
		return Uncaptured
	}
	return Failed
}
