package wake

import "errors"

var (
	// ErrUncaptured: the client is there and did not take the ring; a later one may do better.
	ErrUncaptured = errors.New("client does not take a ring now")
	// ErrHeld is ErrUncaptured before anything was done: the client is not to be disturbed for a moment.
	ErrHeld error = &heldError{"client does not take a ring now: held back", ErrUncaptured}
	// ErrAway is ErrHeld because no terminal shows the session: nobody would see what a ring starts.
	ErrAway error = &heldError{"no terminal shows the session: its mail waits until one does", ErrHeld}
	// ErrUnreachable: there is no client behind this method, so another method should be tried.
	ErrUnreachable = errors.New("client cannot be reached this way")
)

// heldError costs nothing at the start of a hook, as fmt.Errorf would.
type heldError struct {
	text string
	kind error
}

func (e *heldError) Error() string { return e.text }

func (e *heldError) Unwrap() error { return e.kind }
