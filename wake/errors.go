package wake

import (
	"errors"
	"fmt"
)

var (
	// ErrUncaptured: the client is there and did not take the ring; a later one may do better.
	ErrUncaptured = errors.New("client does not take a ring now")
	// ErrHeld is ErrUncaptured before anything was done: the client is not to be disturbed for a moment.
	ErrHeld = fmt.Errorf("%w: held back", ErrUncaptured)
	// ErrUnreachable: there is no client behind this method, so another method should be tried.
	ErrUnreachable = errors.New("client cannot be reached this way")
)
