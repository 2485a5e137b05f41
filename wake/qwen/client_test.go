package qwen

import (
	"errors"
	"testing"
	"time"

	"c2c/wake"
)

// After an error of which it makes copies nothing more is given to it for a while.
func TestAClientThatRepeatsItsMailIsNotFed(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		why  string
		ago  time.Duration
		held bool
	}{
		{"", 0, false},
		{"invalid_request: 400 no", time.Minute, true},
		{"invalid_request: 400 no", 16 * time.Minute, false},
		{"server_error", time.Minute, false},
	} {
		err := ready(func() (string, time.Time) { return tc.why, now.Add(-tc.ago) }, func() time.Time { return now })(t.Context())
		if errors.Is(err, wake.ErrHeld) != tc.held || !tc.held && err != nil {
			t.Errorf("%q %v ago: %v", tc.why, tc.ago, err)
		}
	}
	if err := ready(nil, time.Now)(t.Context()); err != nil {
		t.Error(err)
	}
}
