package cache_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"c2c/internal/atomicfile"
	"c2c/relay/cache"
)

func open(t testing.TB) *atomicfile.Dir {
	t.Helper()
	root, err := atomicfile.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestOfAHostThatWasNeverHeardNothingIsKnown(t *testing.T) {
	root := open(t)
	if h, err := cache.HeardFrom(root, "devbox"); err != nil || h.Name != "devbox" || h.Seen != 0 || h.Linked {
		t.Errorf("%+v, %v", h, err)
	}
	if found, err := statesOf(root, "devbox", "1"); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestStatesAreKeptForLongAndBounded(t *testing.T) {
	root := open(t)
	for n := range 200 {
		var states []cache.HeardState
		for i := range 100 {
			states = append(states, cache.HeardState{ID: fmt.Sprint("m-", n*100+i), What: "read", By: "hook", At: float64(n)})
		}
		if err := cache.AddStates(root, "devbox", states); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := statesOf(root, "devbox", "m-19999"); err != nil || len(found) != 1 || found[0].At != 199 {
		t.Errorf("%+v, %v", found, err)
	}
	var size int64
	files, err := os.ReadDir(filepath.Join(root.Path(), "relay"))
	for _, file := range files {
		info, ierr := file.Info()
		if ierr != nil {
			t.Fatal(ierr)
		}
		size += info.Size()
	}
	if err != nil || size > 1<<20 {
		t.Errorf("the states have %d bytes, %v", size, err)
	}
}

// A packet has at most 1,000 states, and each name in a state has at most 128 bytes.
func TestTheLargestPacketsOfStatesCanBeRead(t *testing.T) {
	root, long := open(t), strings.Repeat("x", 123)
	last := ""
	for n, count := range []int{1, 500, 1000, 1000} {
		var states []cache.HeardState
		for i := range count {
			last = fmt.Sprintf("%s-%d%03d", long, n, i)
			states = append(states, cache.HeardState{ID: last, Session: last, What: "handed", By: last, At: 1e9 + 0.123456})
		}
		if err := cache.AddStates(root, "devbox", states); err != nil {
			t.Fatal(err)
		}
		if found, err := statesOf(root, "devbox", last); err != nil || len(found) != 1 {
			t.Fatalf("packet %d: %d states, %v", n, len(found), err)
		}
		if n == 2 {
			if found, err := statesOf(root, "devbox", long+"-0000"); err != nil || len(found) != 1 {
				t.Errorf("the states of the older file: %+v, %v", found, err)
			}
		}
	}
}

// What a file of the cache holds is shown to people and models, whatever it is.
func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"linked":true,"seen":1,"trouble":"x","sessions":[{"alias":"birch","client":"codex","state":"idle","active":1}]}`))
	f.Add([]byte("{\"trouble\":\"\\u001b[2J\x9b\",\"sessions\":[{\"alias\":\"a b\"},{\"alias\":\"birch\",\"state\":\"\\u202e\"}]}"))
	f.Add([]byte(`{"id":"1","what":"read","by":"hook","at":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := open(t)
		dir, err := root.Sub("relay", true)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		for _, name := range []string{"devbox.seen.json", "devbox.states.log"} {
			if err := os.WriteFile(filepath.Join(dir.Path(), name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h, err := cache.HeardFrom(root, "devbox")
		if err != nil {
			t.Fatal(err)
		}
		shown := []string{h.Trouble}
		for _, s := range h.Sessions {
			shown = append(shown, s.Alias, s.Client, s.State)
		}
		found, err := statesOf(root, "devbox", "1")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found {
			shown = append(shown, s.ID, s.Session, s.What, s.By)
		}
		if i := slices.IndexFunc(shown, func(s string) bool { return len(s) > 2000 || strings.ContainsFunc(s, unicode.IsControl) }); i >= 0 {
			t.Errorf("a terminal gets %q", shown[i])
		}
		if len(h.Sessions) > cache.MaxSessions {
			t.Errorf("%d sessions", len(h.Sessions))
		}
		if _, err := json.Marshal(h); err != nil {
			t.Error(err)
		}
	})
}

// statesOf gives the reported states of a message.
func statesOf(root *atomicfile.Dir, peer, id string) ([]cache.HeardState, error) {
	all, err := cache.ReadHeardReports(root, peer)
	return all.Of(id), err
}
