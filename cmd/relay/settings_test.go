package relay

import (
	"slices"
	"testing"

	"c2c/internal/daemon"
	"c2c/rooms"
)

// The process that starts the relay has the limit of the person in its environment.
func TestTheRelayKeepsTheLimitOfWakes(t *testing.T) {
	env := []string{rooms.WakesVariable + "=0", "SECRET=1"}
	if got := daemon.SafeEnv(env, Settings()); !slices.Equal(got, []string{rooms.WakesVariable + "=0"}) {
		t.Errorf("the relay has %q", got)
	}
}
