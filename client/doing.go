package client

import "time"

// What a session does now. Reports of its hooks, its plugin or its client's server are recorded with the session; what the
// client writes into files of its own is read from them.
const (
	Busy    = "busy"    // a turn runs
	Idle    = "idle"    // none does
	Waiting = "waiting" // a dialog is open: its person has to answer
)

// Doing is what a client's own files say that a session does: Busy, Idle or Waiting, or "" when they do not tell.
type Doing struct {
	Word  string
	Since time.Time // zero: not known
	// Answered is when the session's model has answered last, if the files tell.
	Answered time.Time
}

// InTurn says whether a turn runs, perhaps with a dialog open in it.
func (d Doing) InTurn() bool { return d.Word == Busy || d.Word == Waiting }

// millis is a time in a client's file, in milliseconds; zero for one that JSON could not write.
func millis(n int64) time.Time {
	if at := time.UnixMilli(n); n > 0 && at.Year() < 10_000 {
		return at
	}
	return time.Time{}
}
