//go:build !portable

package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake/watch"
)

// A look that closed one of the files that the command watches would cause the next look, ten times
// a second.
func TestALookOfAWaitDoesNotCauseTheNext(t *testing.T) {
	t.Parallel()
	b, err := broker.Open(broker.Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	register := func(alias string) sessions.Session {
		s, err := b.Register(t.Context(), callers.Caller{Explicit: alias}, alias)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var out strings.Builder
	a, birch := asking{call: &call{app: &app{stdout: &out}, b: b}, by: register("amber")}, register("birch")
	r, now, err := owed.RequestNotice(t.Context(), b.Registry, a.by, "birch", owed.Done, false)
	if err != nil || now != nil {
		t.Fatal(now, err)
	}
	closes := watch.NewFiles()
	defer closes.Close()
	for _, dir := range []string{b.Root(), filepath.Join(b.Root(), "sessions")} {
		if err := closes.Watch(dir); err != nil {
			t.Fatal(err)
		}
	}
	var files []string
	changed := func() bool {
		closed, _ := closes.Take()
		return slices.ContainsFunc(files, func(path string) bool { return closed[path] })
	}
	checker := owed.NewRequestChecker(b.Registry, nil)
	for range 3 {
		changed()
		if files, err = a.look(t.Context(), checker, r); err != nil {
			t.Fatal(err)
		}
		if changed() {
			t.Errorf("it closes one of %q", files)
		}
	}
	if err := owed.SaidDone(t.Context(), b.Registry, birch, nil); err != nil {
		t.Fatal(err)
	}
	if !changed() {
		t.Error("birch says that it is done, and nothing causes a look")
	}
	if _, err := a.look(t.Context(), checker, r); !errors.Is(err, errTold) || out.String() != "birch says that it is done.\n" {
		t.Errorf("it prints %q, %v", out.String(), err)
	}
}
