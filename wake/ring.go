package wake

import "time"

// String is the ring in words.
func (r Ring) String() string {
	text := r.Outcome
	if r.Method != "" {
		text += " by " + r.Method
	}
	text += " at " + r.At.UTC().Format(time.RFC3339)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	return text
}
