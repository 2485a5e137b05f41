package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"c2c/inbox"
)

const (
	crowd      = 32 // processes at once
	bursts     = 15
	goroutines = 8 // of one process
	each       = 25
)

// burst starts many senders to one mailbox at once, and compares how long it takes until the last has
// ended with as many empty programs and one durable replace.
func (w world) burst() error {
	f := figure{what: fmt.Sprintf("%d x c2c send at once (%d pairs)", crowd, bursts),
		limit: fmt.Sprintf("%d x empty Go program, a replace", crowd), aim: "1.6"}
	f, err := f.measure(bursts, func() (float64, error) {
		if _, err := w.emptyBox("amber"); err != nil {
			return 0, err
		}
		return w.together([]string{w.program("c2c"), "send", "amber", "hello"})
	}, func() (float64, error) {
		all, err := w.together([]string{w.program("empty")})
		if err != nil {
			return 0, err
		}
		one, err := w.replaces(1)
		return all + one, err
	})
	if err != nil {
		return err
	}
	f.print()
	return w.goroutines()
}

// goroutines compares a message of several goroutines that send to one mailbox with a durable replace.
func (w world) goroutines() error {
	const messages = goroutines * each
	f := figure{what: fmt.Sprintf("a message of %d goroutines (%d pairs)", goroutines, bursts), limit: "durable replace", aim: "0.33"}
	f, err := f.measure(bursts, func() (float64, error) {
		box, err := w.emptyBox("amber")
		if err != nil {
			return 0, err
		}
		start := time.Now()
		err = atOnce(goroutines, func() error {
			for range each {
				if _, err := box.Deliver(context.Background(), inbox.Message{From: "birch", To: "amber", Content: "hello"}); err != nil {
					return err
				}
			}
			return nil
		})
		return since(start) / messages, err
	}, func() (float64, error) { return w.replaces(each) })
	if err != nil {
		return err
	}
	f.print()
	return nil
}

func (w world) emptyBox(sid string) (*inbox.Mailbox, error) {
	box, err := inbox.Open(w.dir, sid, inbox.Config{})
	if err != nil {
		return nil, err
	}
	_, err = box.Drain(context.Background(), "bench")
	return box, err
}

// replaces writes a small file durably n times and returns milliseconds for one.
func (w world) replaces(n int) (float64, error) {
	start := time.Now()
	for range n {
		if err := w.dir.Replace("limit", make([]byte, 300)); err != nil {
			return 0, err
		}
	}
	return since(start) / float64(n), nil
}

// together runs a command many times at once and returns milliseconds to the end of the last.
func (w world) together(argv []string) (float64, error) {
	start := time.Now()
	err := atOnce(crowd, func() error {
		_, err := w.time(argv)
		return err
	})
	return since(start), err
}

// atOnce runs f in n goroutines and returns one of their errors.
func atOnce(n int, f func() error) error {
	errs := make(chan error, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := f(); err != nil {
				errs <- err
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}
