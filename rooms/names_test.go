package rooms

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A script renames a room and makes another one of its name before the relay looks, or while it is down.
func TestACopyFollowsARoomWhoseNameAnotherRoomGotAtOnce(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.post("amber", "review", "one")
	exchange(devbox, laptop)
	if err := Rename(t.Context(), devbox.Registry, devbox.session("amber"), "review", "board"); err != nil {
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

// The error may be one of a moment: no file could be opened.
func TestPostsOfARoomThatCouldNotBeReadGoOutLater(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	path := filepath.Join(devbox.room("review").Path(), "members.json")
	devbox.post("amber", "review", "one")
	if err := errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	devbox.look()
	if err := errors.Join(os.Remove(path), os.Rename(path+".away", path)); err != nil {
		t.Fatal(err)
	}
	devbox.home.Look(t.Context(), devbox)
	for _, m := range devbox.waiting("host-laptop")[devbox.carried:] {
		m.FromSession, m.To = "r-devbox.c2c", "#review"
		if err := laptop.receive("devbox", m, false); err != nil {
			t.Fatal(err)
		}
	}
	if got := laptop.posts("review@devbox"); !slices.Equal(got, []string{"one"}) {
		t.Errorf("posts of the copy: %q", got)
	}
}

// A session knows a room by another name than the copy has: by a former one, or by a new one that has not come yet.
func TestASessionJoinsByAnotherNameThanTheCopyHas(t *testing.T) {
	t.Parallel()
	rename := func(devbox *machine, old, name string) {
		t.Helper()
		if err := Rename(t.Context(), devbox.Registry, devbox.session("amber"), old, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, late := range []bool{true, false} {
		devbox, laptop := two(t)
		devbox.post("amber", "review", "one")
		exchange(devbox, laptop)
		rename(devbox, "review", "board")
		if late {
			exchange(devbox, laptop)
			laptop.join("elm", "review@devbox")
		} else {
			laptop.join("elm", "board@devbox")
		}
		exchange(laptop, devbox)
		if got := laptop.members("board@devbox"); !slices.Equal(got, []string{"amber@devbox", "birch", "cedar", "elm"}) {
			t.Errorf("late %t: members %q", late, got)
		}
		if names, err := StoreOf(laptop.Registry).Names(); err != nil || len(names) != 1 {
			t.Errorf("late %t: rooms %q %v", late, names, err)
		}
		rename(devbox, "board", "last")
		devbox.post("amber", "last", "@birch @elm two")
		exchange(devbox, laptop)
		if got := laptop.posts("last@devbox"); !slices.Equal(got, []string{"one", "@birch @elm two"}) {
			t.Errorf("late %t: posts %q", late, got)
		}
		for _, sid := range []string{"s-birch", "s-elm"} {
			if got := laptop.waiting(sid); len(got) != 1 {
				t.Errorf("late %t: %s has %+v", late, sid, got)
			}
		}
	}
}

func TestAPostThatArrivesWhileItsRoomGetsAnotherNameIsTaken(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	amber := devbox.session("amber")
	for i := range 40 {
		laptop.post("birch", "review@devbox", fmt.Sprint("post ", i))
	}
	msgs := laptop.outgoing()
	renamed := make(chan error, 1)
	go func() {
		var err error
		name := "review"
		for i := range 7 { // a room knows eight former names
			next := fmt.Sprint("name-", i)
			err = errors.Join(err, Rename(t.Context(), devbox.Registry, amber, name, next))
			name = next
		}
		renamed <- err
	}()
	for _, m := range msgs {
		if err := devbox.receive("laptop", m, false); err != nil {
			t.Error(err)
		}
	}
	if err := <-renamed; err != nil {
		t.Fatal(err)
	}
	if got := devbox.posts("name-6"); len(got) != 40 {
		t.Errorf("%d posts", len(got))
	}
}

// renaming gives both rooms of a machine other names whenever it is asked for a right.
type renaming struct {
	*machine
	names *[2]string
}

func (r renaming) Paired(host string) bool {
	for i, old := range r.names {
		r.names[i] = old + "x"
		if err := Rename(r.t.Context(), r.Registry, r.session("amber"), old, r.names[i]); err != nil {
			r.t.Error(err)
		}
	}
	return r.machine.Paired(host)
}

func TestRoomsThatAreRenamedWithoutEndKeepNobodyBusy(t *testing.T) {
	t.Parallel()
	devbox, laptop := two(t)
	devbox.join("amber", "zebras")
	laptop.join("birch", "zebras@devbox")
	exchange(laptop, devbox)
	devbox.home.Changed()
	names := [2]string{"review", "zebras"}
	if _, soon := devbox.home.Look(t.Context(), renaming{devbox, &names}); !soon {
		t.Error("not told to look again soon")
	}
	devbox.post("amber", names[1], "later")
	exchange(devbox, laptop)
	if got := laptop.posts(names[1] + "@devbox"); !slices.Equal(got, []string{"later"}) {
		t.Errorf("posts of the copy: %q", got)
	}
}
