// Package rooms keeps rooms on disk: the members of each room, the posts, and how far each member
// has read.
//
// A room is a directory below the directory rooms in the root. It has the files members.json,
// history.jsonl (one post on each line, only appended) and meta.json, in the format that
// docs/compatibility.md describes, and c2c.json with all other facts. A post is stored once,
// however many members read it. Each session that is in a room has a file <sid>.rooms in the root,
// with its place in each history: the number of bytes that it has read.
//
// Locks are taken in this order: rooms.lock of the root, members.lock of a room, <sid>.rooms.lock,
// history.lock of a room. Any number of goroutines and processes may use a room at once.
package rooms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

const (
	Directory   = "rooms" // the directory of all rooms, in the root
	archiveName = "rooms-archived"
	LockName    = "rooms.lock" // in the root; held while a room is made or archived

	membersName, membersLock = "members.json", "members.lock"
	historyName, historyLock = "history.jsonl", "history.lock"
	metaName, ownName        = "meta.json", "c2c.json"
)

// Errors that a caller may test for with errors.Is.
var (
	ErrNoRoom    = errors.New("no such room")
	ErrExists    = errors.New("the room exists")
	ErrNotMember = errors.New("not in the room")
	ErrPrivate   = errors.New("the room is for invited members")
)

// HintFor says what a person does after an error that concerns a room; "" for other errors.
func HintFor(err error, room string) string {
	switch {
	case errors.Is(err, ErrNotMember), errors.Is(err, ErrExists):
		return "c2c rooms join " + room + " joins it"
	case errors.Is(err, ErrNoRoom):
		return "c2c rooms list shows all rooms; c2c rooms create NAME makes one"
	}
	return ""
}

// maxRooms limits the number of rooms in a root, because the hook script of each member looks at
// all histories.
const maxRooms = 500

// Store has the rooms of an open root. It does not close the root.
type Store struct {
	Root *atomicfile.Dir
	Now  func() time.Time
	Log  inbox.Log
}

// Room is an open room.
type Room struct {
	Name string
	st   Store
	dir  *atomicfile.Dir
}

// CheckName returns an error if name is not a valid name of a room. A room of another machine has a
// name such as review@devbox here.
func CheckName(name string) error {
	if !mail.ValidRoom(name) {
		return fmt.Errorf("room %.80q: at most 63 of A-Z a-z 0-9 _ -, not first a hyphen; NAME@HOST is a room of another machine", name)
	}
	return nil
}

// HostOf splits the name of a room of another machine. The result host is "" if the room is on this
// machine.
func HostOf(name string) (room, host string) {
	room, host, _ = strings.Cut(name, "@")
	return room, host
}

// ErrElsewhere means that the call must be made on the machine of the room.
var ErrElsewhere = errors.New("the room is on another machine: do it there")

// checkHere returns an error if name is not a valid name of a room of this machine.
func checkHere(name string) error {
	if _, host := HostOf(name); host != "" {
		return fmt.Errorf("room %q: %w", name, ErrElsewhere)
	}
	return CheckName(name)
}

// parent opens the directory of all rooms. It returns nil if there is none.
func (st Store) parent(create bool) (*atomicfile.Dir, error) {
	dir, err := st.Root.Sub(Directory, create)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

// openStore opens the root at a path, for work on its rooms alone. The caller closes the Root of
// the result.
func openStore(root string) (Store, error) {
	dir, err := atomicfile.Open(root)
	return Store{Root: dir, Now: time.Now, Log: inbox.NoLog}, err
}

// Names lists the rooms, sorted. It leaves out files, and directories whose name is not valid for a
// room.
func (st Store) Names() ([]string, error) {
	dir, err := st.parent(false)
	if dir == nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Names()
	names = slices.DeleteFunc(names, func(name string) bool {
		if CheckName(name) != nil {
			return true
		}
		info, serr := dir.Stat(name)
		if serr != nil && !errors.Is(serr, fs.ErrNotExist) && !atomicfile.IsInTheWay(serr) {
			err = errors.Join(err, serr)
		}
		return serr != nil || !info.Mode().IsDir()
	})
	slices.Sort(names)
	return names, err
}

// Open opens a room. If there is no such room, the error matches ErrNoRoom, and may name a similar
// room.
func (st Store) Open(name string) (*Room, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	parent, err := st.parent(false)
	if err != nil {
		return nil, fmt.Errorf("open room %q: %w", name, err)
	}
	if parent != nil {
		defer parent.Close()
		switch dir, err := parent.Sub(name, false); {
		case err == nil && parent.HasName(name):
			return &Room{name, st, dir}, nil
		case err == nil: // under a second name, members would get each post twice
			dir.Close()
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("open room %q: %w", name, err)
		}
	}
	return nil, st.unknown(name)
}

// unknown makes the error for a missing room. Perhaps the name is mistyped.
func (st Store) unknown(name string) error {
	if _, host := HostOf(name); host != "" {
		return fmt.Errorf("%w %q: c2c rooms join asks %s to let you in", ErrNoRoom, name, host)
	}
	names, _ := st.Names()
	for _, other := range names {
		if strings.EqualFold(name, other) || strings.HasPrefix(other, name) || strings.HasPrefix(name, other) {
			return fmt.Errorf("%w %q; did you mean %q?", ErrNoRoom, name, other)
		}
	}
	return fmt.Errorf("%w %q", ErrNoRoom, name)
}

// Close closes the room.
func (r *Room) Close() error { return r.dir.Close() }

// Path returns the directory of the room.
func (r *Room) Path() string { return r.dir.Path() }

// Create makes a room. The argument by is the alias of its maker. Only invited aliases may join a
// private room. The room appears together with all its files, because everybody could join a room
// that has no meta.json yet.
func (st Store) Create(ctx context.Context, name, by string, private bool) (*Room, error) {
	if err := checkHere(name); err != nil {
		return nil, err
	}
	return st.create(ctx, name, by, private)
}

func (st Store) create(ctx context.Context, name, by string, private bool) (*Room, error) {
	var made *Room
	err := atomicfile.WithLock(ctx, st.Root, LockName, func() error {
		parent, err := st.parent(true)
		if err != nil {
			return err
		}
		defer parent.Close()
		if _, err := parent.Stat(name); err == nil {
			return fmt.Errorf("create room %q: %w", name, ErrExists)
		}
		meta := Meta{Private: private, all: map[string]json.RawMessage{"created_by": jsonLine(strings.ToLower(by))}}
		if private {
			meta.Invited = []string{by}
		}
		names, err := st.Names()
		if len(names) >= maxRooms {
			err = fmt.Errorf("a project has at most %d rooms; c2c rooms archive closes one", maxRooms)
		}
		if err == nil {
			err = furnish(parent, name, meta)
		}
		if err != nil {
			return fmt.Errorf("create room %q: %w", name, err)
		}
		made, err = st.Open(name)
		return err
	})
	return made, err
}

// unfinished is the directory of a room that is being made. The name is not valid for a room, so a
// kill leaves nothing that looks like a room.
const unfinished = ".new"

// furnish makes the files of a room, and then gives their directory its name.
func furnish(parent *atomicfile.Dir, name string, meta Meta) error {
	dir, err := parent.Sub(unfinished, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	files := map[string][]byte{metaName: meta.format(), membersName: []byte("[]\n"), historyName: nil}
	for file, data := range files {
		if err = dir.Write(file, data); err != nil {
			break
		}
	}
	if err == nil {
		err = parent.Rename(unfinished, name)
	}
	if err == nil {
		return parent.Sync()
	}
	for file := range files {
		dir.Remove(file)
	}
	parent.RemoveDir(unfinished)
	return err
}

// OpenOrCreate opens a room. If there is none, it makes a public room.
func (st Store) OpenOrCreate(ctx context.Context, name, by string) (*Room, error) {
	r, err := st.Open(name)
	if !errors.Is(err, ErrNoRoom) {
		return r, err
	}
	r, err = st.Create(ctx, name, by, false)
	if errors.Is(err, ErrExists) { // another process was faster
		return st.Open(name)
	}
	return r, err
}

// Archive closes a room: it moves the room's directory, with its files, to the archived rooms. The
// result path is the new directory.
func (st Store) Archive(ctx context.Context, name string) (path string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	err = atomicfile.WithLock(ctx, st.Root, LockName, func() error {
		path, err = st.archive(name)
		return err
	})
	return path, err
}

// archive does the work of Archive for a caller that holds rooms.lock.
func (st Store) archive(name string) (path string, err error) {
	r, err := st.Open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	parent, err := st.parent(false)
	if err != nil {
		return "", err
	}
	defer parent.Close()
	to, err := st.Root.Sub(archiveName, true)
	if err != nil {
		return "", err
	}
	defer to.Close()
	kept := name + st.Now().UTC().Format("-20060102T150405.000000")
	if err := parent.Move(name, to, kept); err != nil {
		return "", fmt.Errorf("archive room %q: %w", name, err)
	}
	return to.Path() + "/" + kept, errors.Join(to.Sync(), parent.Sync())
}

// gone returns ErrNoRoom if the room was archived since it was opened.
func (r *Room) gone() error {
	replaced, err := r.dir.Replaced()
	if err != nil {
		return fmt.Errorf("check room %q: %w", r.Name, err)
	}
	if replaced {
		return r.st.unknown(r.Name)
	}
	return nil
}
