package main

import (
	"fmt"
	"slices"
	"sync"
)

// crowd is many senders that start at once.
type crowd struct {
	what       string
	of, bursts int
	args       func(i int) []string // of c2c, for the i-th sender
}

// crowds compares senders to one mailbox with as many programs that each make one durable replace.
func (b *bench) crowds() error {
	columns()
	for _, c := range []crowd{{of: 8, bursts: 40}, {of: 32, bursts: 15}, {of: 100, bursts: 8}} {
		c.what, c.args = "c2c send", func(int) []string { return []string{"send", "amber", "hello"} }
		if err := b.crowd(c); err != nil {
			return err
		}
	}
	const of = 32
	f := figure{what: fmt.Sprintf("the last of %d x c2c send at once (15 pairs)", of), limit: "the last of 32 x empty, and one replace", aim: "1.6"}
	return b.row(f, 15, func(w *world) (float64, error) {
		if err := w.read("amber"); err != nil {
			return 0, err
		}
		took, err := w.together(of, func(int) []string { return []string{w.program("c2c"), "send", "amber", "hello"} })
		return slices.Max(took), err
	}, func(w *world) (float64, error) {
		all, err := w.together(of, func(int) []string { return []string{w.program("empty")} })
		if err != nil {
			return 0, err
		}
		one, err := replace(w)
		return slices.Max(all) + one, err
	})
}

// crowd prints two rows: how long one of the senders takes, and the slowest hundredth of them.
func (b *bench) crowd(c crowd) error {
	f := figure{what: fmt.Sprintf("one of %d x %s at once (%d times)", c.of, c.what, c.bursts), limit: fmt.Sprintf("one of %d x replace at once", c.of)}
	send := func(w *world) timing {
		return func() ([]float64, error) {
			if err := w.read("amber"); err != nil {
				return nil, err
			}
			return w.together(c.of, func(i int) []string { return append([]string{w.program("c2c")}, c.args(i)...) })
		}
	}
	if err := f.measure(c.bursts, 1, send(b.now), func() ([]float64, error) {
		return b.now.together(c.of, func(int) []string { return []string{b.now.program("replace"), b.now.root} })
	}); err != nil {
		return err
	}
	f.printBoth("2")
	if b.before == nil {
		return nil
	}
	f.limit = "the same before"
	if err := f.measure(c.bursts, 1, send(b.now), send(b.before)); err != nil {
		return f.skip(err)
	}
	f.printBoth("1")
	return nil
}

func (f figure) printBoth(aim string) {
	f.print()
	f.what, f.tail, f.aim = "  their p99", true, aim
	f.print()
}

// together runs n commands at once and returns how many milliseconds each took.
func (w *world) together(n int, argv func(i int) []string) ([]float64, error) {
	took, errs := make([]float64, n), make([]error, n)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			words := argv(i)
			<-begin
			took[i], errs[i] = w.time(words[0], words[1:]...)
		})
	}
	close(begin)
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}
