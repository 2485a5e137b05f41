package copies

import (
	"slices"
	"testing"

	"c2c/rooms/talk"
)

// A script renames a room and makes another one of its name before the relay looks, or while it is down.
func TestACopyFollowsARoomWhoseNameAnotherRoomGotAtOnce(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "one")
	exchange(devbox, laptop)
	if err := talk.Rename(t.Context(), devbox.Registry, devbox.session("amber"), "review", "board"); err != nil {
		t.Fatal(err)
	}
	devbox.join("amber", "review")
	devbox.post("amber", "board", "@birch two")
	devbox.post("amber", "review", "secret")
	exchange(devbox, laptop)
	exchange(devbox, laptop)
	if got := devbox.members("board"); !slices.Contains(got, "birch@laptop") {
		t.Errorf("members of the home: %q", got)
	}
	if got := laptop.posts("board@devbox"); !slices.Equal(got, []string{"one", "@birch two"}) {
		t.Errorf("posts of the copy: %q", got)
	}
}
