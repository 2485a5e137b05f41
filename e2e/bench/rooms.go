package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/rooms"
)

// postsToRoom posts to a room of 50 members. Only the author has a row in the registry, so that
// other measurements find the same root.
func postsToRoom(w *world) ([]float64, error) {
	const room, author = "bench", "poster"
	if _, err := os.Stat(filepath.Join(w.root, rooms.Directory)); err != nil {
		if _, err := w.time(w.program("c2c"), "register", author, "--session-id", author); err != nil {
			return nil, err
		}
		if err := fillRoom(context.Background(), w.root, room, author, 50); err != nil {
			return nil, err
		}
	}
	return one(w.run(author, nil, w.program("c2c"), "send", "#"+room, "hello"))
}

func fillRoom(ctx context.Context, root, room, author string, members int) error {
	dir, err := atomicfile.Open(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	r, err := rooms.Store{Root: dir, Now: time.Now, Log: inbox.NoLog}.OpenOrCreate(ctx, room, author, false)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.Join(ctx, author, author, nil); err != nil {
		return err
	}
	for i := 1; i < members; i++ {
		sid := fmt.Sprintf("member-%02d", i)
		if _, err := r.Join(ctx, sid, sid, nil); err != nil {
			return err
		}
	}
	return nil
}
