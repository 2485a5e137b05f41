package wake

import "errors"

var (
	// ErrUncaptured: the client runs, but did not take the ring; it may take a later one.
	ErrUncaptured = errors.New("client does not take a ring now")
	// ErrHeld wraps ErrUncaptured: c2c has sent nothing, because a ring would disturb the client
	// now.
	ErrHeld error = &heldError{"client does not take a ring now", ErrUncaptured}
	// ErrAway wraps ErrHeld: no terminal shows the session, so no person would see what a ring
	// starts.
	ErrAway error = &heldError{"no terminal shows the session: its mail waits until one does", ErrHeld}
	// ErrRefused wraps ErrUncaptured: the client's person does not let other sessions write to it.
	ErrRefused error = &heldError{"client refuses", ErrUncaptured}
	// ErrConsent wraps ErrUncaptured: the client holds the ring until its person accepts it.
	ErrConsent error = &heldError{"client asks its person first", ErrUncaptured}
	// ErrRead: there was no ring, because the message did not wait any more.
	ErrRead = errors.New("the message has been read meanwhile")
	// ErrLives: the session is running, so it will not read its history again.
	ErrLives = errors.New("a session that runs does not read its history: send it a message")
	// ErrUnreachable: this method reaches no client, so the caller should try another method.
	ErrUnreachable = errors.New("client cannot be reached this way")
)

// DialogWaits tells a person why nothing can be typed into a client, or why nothing of c2c runs in
// it, if a dialog is the likely reason.
const DialogWaits = "a dialog may wait in its terminal, such as whether you trust the folder"

// heldError is an error that wraps another error. Unlike a call of fmt.Errorf, it costs no time at
// the start of a hook.
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
