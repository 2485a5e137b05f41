package relayed

import (
	"slices"
	"testing"

	"c2c/rooms/talk"
	"c2c/wake/daemon"
)

// The process that starts the relay has the limit of the person in its environment.
func TestTheRelayKeepsTheLimitOfWakes(t *testing.T) {
	env := []string{talk.WakesVariable + "=0", "SECRET=1"}
	if got := daemon.SafeEnv(env, Settings()); !slices.Equal(got, []string{talk.WakesVariable + "=0"}) {
		t.Errorf("the relay has %q", got)
	}
}
