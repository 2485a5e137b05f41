package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

const (
	crowd  = 32 // processes at once
	bursts = 15
)

// burst starts many senders to one mailbox at once, and as many empty programs, and compares how long it
// takes until the last has ended.
func (w world) burst() error {
	var sends, empties []float64
	for range bursts {
		s, err := w.together([]string{filepath.Join(w.bin, "c2c"), "send", "amber", "hello"})
		if err != nil {
			return err
		}
		e, err := w.together([]string{filepath.Join(w.bin, "empty")})
		if err != nil {
			return err
		}
		sends, empties = append(sends, s), append(empties, e)
	}
	figure{what: fmt.Sprintf("%d x c2c send at once", crowd), limit: fmt.Sprintf("%d x empty Go program", crowd), got: sends, base: empties}.print()
	return nil
}

// together runs a command many times at once and returns milliseconds to the end of the last.
func (w world) together(argv []string) (float64, error) {
	start := time.Now()
	var all sync.WaitGroup
	errs := make(chan error, crowd)
	for range crowd {
		all.Go(func() {
			_, err := w.time(argv)
			errs <- err
		})
	}
	all.Wait()
	took := float64(time.Since(start)) / float64(time.Millisecond)
	for range crowd {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return took, nil
}
