package client

import "time"

// The words for the present activity of a session. They come from reports of hooks, of a plugin or
// of the client's server, and from files that the client itself writes.
const (
	Busy    = "busy"    // a turn runs
	Idle    = "idle"    // no turn runs
	Waiting = "waiting" // a dialog is open: the person has to answer
	Away    = "away"    // the client lives, but shows the session in no terminal
)

// Doing is the activity of a session according to the client's own files. Word is Busy, Idle or
// Waiting, or "" if the files do not show it.
type Doing struct {
	Word  string
	Since time.Time // zero: not known
	// Background says that no turn runs, but something that the model has started in the
	// background.
	Background bool
	// Answered is the time of the last answer of the session's model; zero: the files do not show
	// it.
	Answered time.Time
}

// InTurn reports whether a turn runs, perhaps with an open dialog.
func (d Doing) InTurn() bool { return d.Word == Busy || d.Word == Waiting }

// millis converts a client's time in milliseconds. It returns zero for a time that JSON cannot
// hold.
func millis(n int64) time.Time {
	if at := time.UnixMilli(n); n > 0 && at.Year() < 10_000 {
		return at
	}
	return time.Time{}
}
