package rooms

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// place says how far a member has read a room.
type place struct {
	Room string `json:"room"`
	Read int64  `json:"read"` // the end of the last read post, in bytes from the start of the history
}

// places reads a session's file of places, which has a line for each room. It leaves out damaged
// lines; the session must join those rooms again.
func (st Store) places(sid string) (all []place, err error) {
	if !mail.ValidName(sid) {
		return nil, nil
	}
	data, err := st.Root.ReadMost(sessions.RoomPlaces(sid), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rooms of session %q: %w", sid, err)
	}
	for line := range bytes.Lines(data) {
		var p place
		if json.Unmarshal(line, &p) == nil && CheckName(p.Room) == nil && p.Read >= 0 && !slices.ContainsFunc(all, func(q place) bool { return q.Room == p.Room }) {
			all = append(all, p)
		}
	}
	return all, nil
}

// IsOpen reports whether a session has the level Open in at least one room.
func (st Store) IsOpen(sid string) bool {
	_, err := st.Root.Stat(sessions.RoomOpen(sid))
	return err == nil
}

// Of lists the rooms of a session.
func (st Store) Of(sid string) (names []string, err error) {
	all, err := st.places(sid)
	for _, p := range all {
		names = append(names, p.Room)
	}
	return names, err
}

// changePlaces edits a session's file of places under its lock.
func (st Store) changePlaces(ctx context.Context, sid string, edit func([]place) []place) error {
	return atomicfile.WithLock(ctx, st.Root, sessions.RoomPlacesLock(sid), func() error {
		all, err := st.places(sid)
		if err != nil && !atomicfile.IsInTheWay(err) {
			return err
		}
		all = edit(all)
		if len(all) == 0 {
			return errors.Join(atomicfile.UnlessAbsent(st.Root.Remove(sessions.RoomPlaces(sid))), atomicfile.UnlessAbsent(st.Root.Remove(sessions.RoomOpen(sid))))
		}
		var b []byte
		for _, p := range all {
			b = append(b, jsonLine(p)...)
		}
		return st.Root.Replace(sessions.RoomPlaces(sid), b)
	})
}

// enter sets a session's place to the end of a room's history, unless the session is a member and
// has a place already. It checks the membership, because the place may be that of an archived room
// with the same name.
func (r *Room) enter(ctx context.Context, sid string) error {
	in := func(p place) bool { return p.Room == r.Name }
	isMember := func() bool {
		rows, err := r.rows()
		return err != nil || sessions.FindSID(rows, sid) >= 0
	}
	all, err := r.st.places(sid)
	if err == nil && isMember() && slices.ContainsFunc(all, in) {
		return nil
	}
	h, err := r.history()
	if err != nil {
		return err
	}
	end, err := h.end()
	h.Close()
	if err != nil {
		return err
	}
	return r.st.changePlaces(ctx, sid, func(all []place) []place {
		i := slices.IndexFunc(all, in)
		switch {
		case i < 0:
			return append(all, place{r.Name, end})
		case !isMember(): // if another join of this session was faster, keep the place of that join
			all[i].Read = end
		}
		return all
	})
}

func (st Store) leave(ctx context.Context, sid, room string) error {
	err := st.changePlaces(ctx, sid, func(all []place) []place {
		return slices.DeleteFunc(all, func(p place) bool { return p.Room == room })
	})
	return errors.Join(err, st.markOpen(ctx, sid))
}

// markOpen makes or removes the file that says that a session has the level Open in some room. If a
// room cannot be read, the file is not removed: without the file the session would miss posts, and
// with the file the session only looks once too often.
func (st Store) markOpen(ctx context.Context, sid string) error {
	return atomicfile.WithLock(ctx, st.Root, sessions.RoomPlacesLock(sid), func() error {
		names, err := st.Of(sid)
		if err != nil {
			return err
		}
		isKnown := true
		for _, name := range names {
			level, err := st.levelIn(name, sid)
			if level == Open {
				return st.Root.Write(sessions.RoomOpen(sid), nil)
			}
			isKnown = isKnown && err == nil
		}
		if !isKnown {
			return nil
		}
		return atomicfile.UnlessAbsent(st.Root.Remove(sessions.RoomOpen(sid)))
	})
}

// levelIn returns a session's level in a room.
func (st Store) levelIn(name, sid string) (Level, error) {
	r, err := st.Open(name)
	if errors.Is(err, ErrNoRoom) {
		return Quiet, nil
	}
	if err != nil {
		return Quiet, err
	}
	defer r.Close()
	o, err := r.own()
	if errors.Is(err, errDamaged) {
		err = nil
	}
	return o.level(sid), err
}
