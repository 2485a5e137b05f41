package main

import (
	"fmt"
	"path/filepath"

	"c2c/broker"
	"c2c/internal/format"
	"c2c/rooms"
)

// checkRooms reports rooms with a part that c2c cannot read.
func checkRooms(b *broker.Broker) (found []format.Finding) {
	st := rooms.StoreOf(b.Registry)
	warn := func(name, detail string) {
		found = append(found, format.Finding{Status: format.Warning, Part: "room", Path: filepath.Join(b.Root(), "rooms", name), Detail: detail})
	}
	names, err := st.Names()
	if err != nil {
		warn("", err.Error())
	}
	for _, name := range names {
		r, err := st.Open(name)
		if err != nil {
			warn(name, err.Error())
			continue
		}
		if _, err := r.Members(); err != nil {
			warn(name, err.Error())
		}
		switch n, err := r.Damaged(); {
		case err != nil:
			warn(name, err.Error())
		case n > 0:
			warn(name, fmt.Sprintf("lines of its history that are no posts: %d; c2c leaves these lines out and shows the other posts", n))
		}
		if _, err := r.Meta(); err != nil {
			warn(name, err.Error()+"; nobody new may join until it is repaired")
		}
		r.Close()
	}
	return found
}
