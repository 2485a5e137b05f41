package install

import (
	"errors"
	"os"
	"strings"
	"testing"

	"c2c/client"
	"c2c/internal/atomicfile"
)

// As with sudo and the user's HOME: a new file or directory of root's would shut the client out of
// its own configuration. What is there keeps its owner, and what others may read shuts nobody out.
func TestRootMakesNothingInAUsersHome(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can give files away
	}
	for _, client := range client.Names() {
		b := newBox(t)
		for _, name := range []string{"home", "project"} {
			if err := os.Chown(b.path(name), 65534, -1); err != nil {
				t.Fatal(err)
			}
		}
		before := b.tree()
		err := b.plan(client).Apply()
		if !errors.Is(err, atomicfile.ErrNotOurs) || !strings.Contains(err.Error(), "run c2c as that user") {
			t.Errorf("%s: %v", client, err)
		}
		b.wantTree(before)
	}
	b := newBox(t)
	if err := os.Chown(b.path("project"), 65534, -1); err != nil {
		t.Fatal(err)
	}
	b.install(Claude) // a project of the user's, in a container
}
