package main

import (
	"errors"
	"fmt"
)

const (
	nearlyFull   = 19_500 // of the 20,000 messages that c2c lets wait
	archived     = 100_000
	eachArchived = 20_000
	manySessions = 400 // about as many as a registry of 64 KiB holds
)

// fresh is an action with an id that was never used.
func fresh(n *int, do func(id string) action) action {
	return func(w *world) (float64, error) {
		*n++
		return do(fmt.Sprintf("fresh-%d", *n))(w)
	}
}

// lookups measures what looks for an id, or into a mailbox, with more and more mail in it.
func (b *bench) lookups() error {
	columns()
	read, last := ids{}, ids{}
	if err := b.both(func(w *world) error { return read.fill(w, "amber", 1) }); err != nil {
		return err
	}
	n := 0
	withID := func(to string) action {
		return fresh(&n, func(id string) action { return c2c("send", to, "--id", id, "hello") })
	}
	check := func(sid string) action { return c2c("poll-inbox", "--check", "--session-id", sid) }
	rows := []struct {
		figure
		empty, full, limit action
	}{
		{figure{what: "c2c send --id", limit: "Go program with one durable replace", aim: "1.5"},
			emptied("amber", withID("amber")), withID("cedar"), replace},
		{figure{what: "c2c poll-inbox --check", limit: "empty Go program", aim: "1.7"}, emptied("amber", check("amber")), check("cedar"), empty},
		{figure{what: "c2c status", limit: "empty Go program", aim: "2"}, emptied("amber", read.status()), last.status(), empty},
	}
	for _, row := range rows {
		row.what += ", 0 waiting"
		if err := b.row(row.figure, pairs, row.empty, row.limit); err != nil {
			return err
		}
	}
	has := 0
	for _, waiting := range []int{1000, nearlyFull} {
		if err := b.both(func(w *world) error { return last.fill(w, "cedar", waiting-has) }); err != nil {
			return err
		}
		has = waiting
		for _, row := range rows {
			f := figure{what: fmt.Sprintf("%s, %d waiting", row.what, waiting), limit: "the same, 0 waiting", aim: "1.3"}
			if err := b.row(f, pairs, row.full, row.empty); err != nil {
				return err
			}
		}
	}
	if err := b.row(figure{what: "c2c send, 19500 waiting", limit: "the same, 0 waiting", aim: "1.3"}, pairs,
		c2c("send", "cedar", "hello"), emptied("amber", c2c("send", "amber", "hello"))); err != nil {
		return err
	}
	return b.crowd(crowd{what: "c2c send --id, 19500 waiting", of: 32, bursts: 4, args: func(i int) []string {
		return []string{"send", "cedar", "--id", fmt.Sprintf("crowd-%d", i), "hello"}
	}})
}

// ids are those of one message in each world.
type ids map[*world]string

// fill sends n messages, and keeps the id of the last.
func (i ids) fill(w *world, to string, n int) (err error) {
	i[w], err = w.fill(to, n)
	return err
}

func (i ids) status() action {
	return func(w *world) (float64, error) { return c2c("status", i[w])(w) }
}

// archive measures a look for the oldest message of a long archive.
func (b *bench) archive() error {
	oldest, only := ids{}, ids{}
	if err := b.both(func(w *world) error {
		if err := errors.Join(only.fill(w, "amber", 1), w.read("amber"), oldest.fill(w, "ebony", 1)); err != nil {
			return err
		}
		for range archived / eachArchived {
			if _, err := w.fill("ebony", eachArchived-1); err != nil {
				return err
			}
			if err := w.read("ebony"); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	columns()
	if err := b.row(figure{what: fmt.Sprintf("c2c status, the oldest of %d archived", archived), limit: "the same, 1 archived", aim: "2"},
		pairs, oldest.status(), only.status()); err != nil {
		return err
	}
	n := 0
	withID := func(to string) action {
		return fresh(&n, func(id string) action { return emptied(to, c2c("send", to, "--id", "kept-"+id, "hello")) })
	}
	return b.row(figure{what: fmt.Sprintf("c2c send --id, %d archived", archived), limit: "the same, a short archive", aim: "2"},
		pairs, withID("ebony"), withID("cedar"))
}

// sessions measures what many registered sessions cost everybody.
func (b *bench) sessions() error {
	if err := b.both(func(w *world) error {
		crowded := w.in("crowded")
		if err := crowded.prepare(); err != nil {
			return err
		}
		for i := range manySessions {
			name := fmt.Sprintf("s-%d", i)
			if _, err := crowded.time(w.program("c2c"), "register", name, "--session-id", name); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	columns()
	crowded := func(do action) action { return func(w *world) (float64, error) { return do(w.in("crowded")) } }
	if err := b.row(figure{what: "c2c list, 6 sessions", limit: "empty Go program", aim: "2"}, pairs, c2c("list"), empty); err != nil {
		return err
	}
	for _, row := range []struct {
		what, aim string
		do        action
	}{
		{"c2c list", "8", c2c("list")},
		{"c2c hook, empty mailbox", "1.1", emptied("birch", c2c("hook"))},
		{"c2c send", "1.1", emptied("amber", c2c("send", "amber", "hello"))},
	} {
		f := figure{what: fmt.Sprintf("%s, %d sessions", row.what, manySessions), limit: "the same, 6 sessions", aim: row.aim}
		if err := b.row(f, pairs, crowded(row.do), row.do); err != nil {
			return err
		}
	}
	return nil
}
