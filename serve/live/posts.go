package live

import (
	"errors"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"time"

	"c2c/rooms"
)

// changedRooms removes the files of rooms from changed, and returns the names of these rooms. The
// result list means that rooms may have come or gone.
func (v *View) changedRooms(changed map[string]bool) (names map[string]bool, list bool) {
	names = map[string]bool{}
	for path := range changed {
		if path == filepath.Join(v.b.Root(), rooms.LockName) {
			list = true
		} else if name, ok := strings.CutPrefix(filepath.Dir(path), filepath.Join(v.b.Root(), rooms.Directory)+"/"); ok {
			names[name] = true
			delete(changed, path)
		}
	}
	return names, list
}

// posts reports the new posts of the named rooms. If list is set, it first looks for new rooms.
func (v *View) posts(names map[string]bool, list bool) {
	if list {
		v.listRooms(names)
	}
	for name := range names {
		if at, known := v.rooms[name]; known {
			v.postsOf(name, at)
		}
	}
}

// listRooms finds the rooms, and adds all their names to names.
func (v *View) listRooms(names map[string]bool) {
	store := rooms.Store{Root: v.b.Dir()}
	all, err := store.Names()
	if err != nil {
		v.event(Event{What: Damaged, At: time.Now(), Why: err.Error()})
		return
	}
	there := map[string]bool{}
	for _, name := range all {
		there[name], names[name] = true, true
	}
	maps.DeleteFunc(v.rooms, func(name string, _ int64) bool { return !there[name] })
	for name := range there {
		if v.files.Watch(filepath.Join(v.b.Root(), rooms.Directory, name)) != nil {
			v.files.Poll()
		}
		if _, known := v.rooms[name]; !known && v.begun {
			v.rooms[name] = 0
		} else if !known {
			v.rooms[name] = math.MaxInt64 // the end of its history, so this View reports no older posts
		}
	}
}

// postsOf reports the posts that follow the place at in a room's history.
func (v *View) postsOf(name string, at int64) {
	r, err := rooms.Store{Root: v.b.Dir()}.Open(name)
	if errors.Is(err, rooms.ErrNoRoom) {
		return // the room was archived: the program that does this then closes the lock file of all rooms, which causes a new list
	}
	if err == nil {
		defer r.Close()
	}
	for more := err == nil; more; {
		var posts []rooms.Post
		var end int64
		posts, end, err = r.After(at)
		more = err == nil && end > at // a part of a long history is read at a time
		at = end
		for _, p := range posts {
			m := p.In(name)
			v.event(Event{What: Posted, At: p.Time(), Fingerprint: m.Fingerprint(), Message: m})
		}
	}
	v.rooms[name] = at
	if err != nil {
		v.event(Event{What: Damaged, At: time.Now(), Why: err.Error()})
	}
}
