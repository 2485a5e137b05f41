package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// inRoom makes the state in which amber and birch are in the room review, but not coral. A post in
// the room is new to birch. Then inRoom runs more commands.
func inRoom(more ...string) func(*place) error {
	return func(p *place) error {
		return errors.Join(p.pair(), p.steps(append([]string{
			": c2c register coral --session-id coral", "amber: c2c rooms create review", "birch: c2c rooms join review", "amber: c2c send #review --id old old",
		}, more...)...))
	}
}

// rooms are scenarios with rooms, claims and notices. A command that failed is run again, and has
// to complete its work.
func rooms() (all []*scenario) {
	add := func(name, as, command string, prepare func(*place) error, check func(*verdict)) {
		s := &scenario{name: name, as: as, command: strings.Fields(command), prepare: prepare, check: check}
		all = append(all, s)
	}
	add("rooms join", "coral", "c2c rooms join review", inRoom(), func(v *verdict) {
		v.must("coral", "c2c", "rooms", "join", "review")
		v.room("review", []string{"amber", "birch", "coral"}, "old")
		v.news("coral")
	})
	add("rooms leave", "birch", "c2c rooms leave review", inRoom(), func(v *verdict) {
		v.place.run("birch", "c2c", "rooms", "leave", "review") // fails if birch has left already
		v.room("review", []string{"amber"}, "old")
		v.must("birch", "c2c", "rooms", "join", "review")
		v.news("birch")
	})
	add("rooms create, private", "amber", "c2c rooms create board --private", inRoom(), func(v *verdict) {
		if _, err := v.place.run("coral", "c2c", "rooms", "join", "board"); err == nil {
			v.wrong("coral is in a private room")
		}
		v.place.run("amber", "c2c", "rooms", "create", "board", "--private") // fails if the room exists already
		v.must("amber", "c2c", "rooms", "join", "board")
		v.room("board", []string{"amber"})
	})
	add("rooms archive", "amber", "c2c rooms archive review", inRoom(), func(v *verdict) {
		v.place.run("amber", "c2c", "rooms", "archive", "review")
		if out := v.must("amber", "c2c", "rooms", "list"); strings.Contains(out, "review") {
			v.wrong("after it was archived: %s", out)
		}
		v.must("amber", "c2c", "rooms", "create", "review")
		v.room("review", []string{"amber"})
	})
	add("send, to a room", "amber", "c2c send #review --id new @birch,look", inRoom(), func(v *verdict) {
		posts := v.posts("review")
		if v.run.code == 0 && !v.run.killed && !slices.Equal(posts, []string{"old", "new"}) {
			v.wrong("acknowledged, and the room has %q", posts)
		}
		v.must("amber", "c2c", "send", "#review", "--id", "new", "@birch,look")
		v.room("review", []string{"amber", "birch"}, "old", "new")
		v.same("waiting for birch", v.waiting("birch"), []letter{{"new", "@birch,look"}})
		v.must("birch", "c2c", "poll-inbox")
	})
	add("claim", "amber", "c2c claim a.go b.go", inRoom(), func(v *verdict) {
		v.must("amber", "c2c", "claim", "a.go", "b.go")
		v.claims("a.go", "b.go")
		v.must("amber", "c2c", "release")
		v.claims()
	})
	add("release", "amber", "c2c release a.go", inRoom("amber: c2c claim a.go b.go"), func(v *verdict) {
		v.must("amber", "c2c", "release", "a.go")
		v.claims("b.go")
	})
	add("rooms level", "birch", "c2c rooms level review open", inRoom(), func(v *verdict) {
		v.must("birch", "c2c", "rooms", "level", "review", "open")
		if out := v.must("birch", "c2c", "rooms", "members", "review"); !strings.Contains(out, "birch  open") {
			v.wrong("members are %q", out)
		}
		v.news("birch", "old")
	})
	add("notify", "amber", "c2c notify birch --when done", inRoom(), func(v *verdict) {
		v.must("amber", "c2c", "notify", "birch", "--when", "done")
		if out := v.must("amber", "c2c", "notify"); strings.Count(out, "\n") != 1 || !strings.Contains(out, "when birch is done") {
			v.wrong("requests are %q", out)
		}
		v.clean(false)
	})
	add("reply --done", "birch", "c2c reply task --done ready", inRoom("amber: c2c notify birch --when done", "amber: c2c send birch --id task --kind task work", "birch: c2c poll-inbox"), func(v *verdict) {
		v.place.run("birch", "c2c", "reply", "task", "--done", "ready") // may fail if the task is answered already
		v.must("birch", "c2c", "reply", "task", "--done", "ready")
		v.must("birch", "c2c", "reply", "task", "--done", "ready")
		if out := v.must("amber", "c2c", "poll-inbox"); strings.Count(out, "says that it is done") != 1 {
			v.wrong("amber is told %q", out)
		}
		v.clean(false)
	})
	return all
}

// room checks that a room has exactly these members and posts.
func (v *verdict) room(room string, members []string, posts ...string) {
	var names []string
	for line := range strings.Lines(v.must("amber", "c2c", "rooms", "members", room)) {
		names = append(names, strings.Fields(line)[0])
	}
	if !slices.Equal(names, members) {
		v.wrong("in %s are %q, want %q", room, names, members)
	}
	if got := v.posts(room); !slices.Equal(got, posts) {
		v.wrong("%s has the posts %q, want %q", room, got, posts)
	}
	v.clean(false)
}

func (v *verdict) posts(room string) (ids []string) {
	for _, l := range v.letters("amber", "c2c", "rooms", "history", room, "--json") {
		ids = append(ids, l.ID)
	}
	return ids
}

// news checks that poll-inbox shows a session these posts as new, and that a second poll-inbox
// shows none.
func (v *verdict) news(sid string, want ...string) {
	for _, want := range [][]string{want, nil} {
		out := v.must(sid, "c2c", "poll-inbox")
		if strings.Contains(out, `event="rooms"`) != (len(want) > 0) || slices.ContainsFunc(want, func(id string) bool { return !strings.Contains(out, id) }) {
			v.wrong("new to %s is %q, want %q", sid, out, want)
		}
	}
}

func (v *verdict) claims(want ...string) {
	var all []struct{ Path string }
	if err := json.Unmarshal([]byte(v.must("amber", "c2c", "claims", "--json")), &all); err != nil {
		v.wrong("claims: %v", err)
	}
	var got []string
	for _, one := range all {
		got = append(got, strings.TrimPrefix(one.Path, v.path("project")+"/"))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		v.wrong("claimed are %q, want %q", got, want)
	}
	v.clean(false)
}
