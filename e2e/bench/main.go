// Command bench times c2c's hot paths, each as a ratio to a limit that is
// measured in the same run, in turn with it:
//
//	bench [-before dir] [-only part] <directory of the programs>
//
// With -before each row is also measured in turn with an older c2c and c2cd.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	before := flag.String("before", "", "a directory with an older c2c and c2cd to compare with")
	only := flag.String("only", "", "this part alone: "+strings.Join(names(), ", "))
	flag.Parse()
	if flag.NArg() != 1 || *only != "" && !slices.Contains(names(), *only) {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *before, *only); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// bench has the programs to measure, each with mail of its own.
type bench struct {
	now    *world
	before *world // nil: nothing to compare with
}

var parts = []struct {
	name string
	run  func(*bench) error
}{
	{"start", (*bench).start}, {"lookups", (*bench).lookups}, {"archive", (*bench).archive}, {"sessions", (*bench).sessions},
	{"crowds", (*bench).crowds}, {"drain", (*bench).drain}, {"mcp", (*bench).mcp}, {"rings", (*bench).rings},
	{"terminal", (*bench).terminal}, {"idle", (*bench).idle}, {"http", (*bench).http},
}

func names() (all []string) {
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

func run(bin, before, only string) (err error) {
	b := &bench{}
	if b.now, err = newWorld(bin); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.now.close()) }()
	if before != "" {
		if b.before, err = newWorld(before); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.before.close()) }()
	}
	fmt.Print(heading())
	for _, p := range parts {
		if only != "" && p.name != only {
			continue
		}
		if err := p.run(b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if only == "" {
		notes()
	}
	return nil
}

// both prepares the mail of now and of before in the same way.
func (b *bench) both(prepare func(*world) error) error {
	err := prepare(b.now)
	if err == nil && b.before != nil {
		err = prepare(b.before)
	}
	return err
}

// action does what is measured, in a world, and returns milliseconds.
type action func(*world) (float64, error)

func c2c(args ...string) action {
	return func(w *world) (float64, error) { return w.time(w.program("c2c"), args...) }
}

// emptied is an action on a mailbox out of which everything was read before.
func emptied(sid string, do action) action {
	return func(w *world) (float64, error) {
		if err := w.read(sid); err != nil {
			return 0, err
		}
		return do(w)
	}
}

// empty and replace are the limits of most rows.
func empty(w *world) (float64, error) { return w.time(w.program("empty")) }

func replace(w *world) (float64, error) { return w.time(w.program("replace"), w.root) }

// row measures an action in turn with its limit, and with the same action of before.
func (b *bench) row(f figure, n int, do, limit action) error {
	if err := f.measure(n, warmUps, do.in(b.now), limit.in(b.now)); err != nil {
		return err
	}
	f.print()
	if b.before == nil {
		return nil
	}
	f.limit, f.aim = "the same before", "1"
	if err := f.measure(n, warmUps, do.in(b.now), do.in(b.before)); err != nil {
		return f.skip(err)
	}
	f.print()
	return nil
}

func (a action) in(w *world) timing {
	return func() ([]float64, error) { return once(a(w)) }
}

// start compares whole processes that do little.
func (b *bench) start() error {
	columns()
	for _, row := range []struct {
		figure
		do, limit action
	}{
		{figure{what: "c2c version", limit: "empty Go program"}, c2c("version"), empty},
		{figure{what: "c2c hook, empty mailbox", limit: "empty Go program", aim: "1.3"}, emptied("birch", c2c("hook")), empty},
		{figure{what: "c2c send", limit: "Go program with one durable replace", aim: "1.4"},
			emptied("amber", c2c("send", "amber", "hello")), replace},
	} {
		if err := b.row(row.figure, pairs, row.do, row.limit); err != nil {
			return err
		}
	}
	// The script is this version's: there is nothing to compare it with.
	now := bench{now: b.now}
	return now.row(figure{what: "hook script, empty mailbox", limit: "sh -c :", aim: "2"}, pairs,
		func(w *world) (float64, error) { return w.time(w.script()) },
		func(w *world) (float64, error) { return w.time("sh", "-c", ":") })
}
