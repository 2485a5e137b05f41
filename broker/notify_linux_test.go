//go:build !portable

package broker_test

import (
	"path/filepath"
	"slices"
	"testing"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/wake/watch"
)

// The processes that check the requests watch owed.RequestFiles: a check that closed one of them
// would cause the next one, in each of these processes.
func TestAChangeCausesAtMostTwoChecks(t *testing.T) {
	for _, when := range owed.Whens() {
		w := newTableWorld(t)
		amber, birch, _ := w.asks(when)
		files := watch.NewFiles()
		defer files.Close()
		for _, dir := range []string{w.Root(), filepath.Join(w.Root(), "sessions")} {
			if err := files.Watch(dir); err != nil {
				t.Fatal(err)
			}
		}
		var waiting []owed.Request
		changed := func() bool { // as the processes see it
			closed, _ := files.Take()
			return slices.ContainsFunc(owed.RequestFiles(w.Registry, waiting), func(path string) bool { return closed[path] })
		}
		ask := func(alias string) {
			t.Helper()
			if _, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, alias, when, false); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			name  string
			other func() // what another process does
			want  int    // requests that wait then
		}{
			{"asked again", func() { ask("birch") }, 1},
			{"cancelled", func() { owed.CancelRequests(t.Context(), w.Registry, amber, "birch") }, 0},
			{"asked anew", func() { ask("birch") }, 1},
			{"birch has ended", func() { w.turn(birch.ID, sessions.Away, inbox.ByHook) }, 0},
		} {
			step.other()
			looks := 0
			for ; changed() && looks < 10; looks++ {
				var err error
				if waiting, err = owed.NewRequestChecker(w.Registry, nil).Check(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if looks < 1 || looks > 2 || len(waiting) != step.want {
				t.Errorf("%s, %s: %d checks, and then %d requests", when, step.name, looks, len(waiting))
			}
		}
	}
}
