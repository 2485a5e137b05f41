package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"c2c/inbox"
)

// askRows measure how long a question waits for its answer, and how long a screen takes to show a
// change.
func askRows() []row {
	return []row{
		{name: "c2c ask, answered at once", anew: beforeLoop, do: ask, limit: "two Go programs with one durable replace, one after the other", aim: 4.4,
			against: func(w *world) ([]float64, error) {
				question, err := replace(w)
				if err != nil {
					return nil, err
				}
				answer, err := replace(w)
				return []float64{question[0] + answer[0]}, err
			}},
		{name: "c2c watch, start to first paint", do: func(w *world) ([]float64, error) {
			start := time.Now()
			win, err := w.screen()
			return one(since(start), errors.Join(err, win.end()))
		}, limit: emptyWords, against: empty, aim: 12},
		{name: "c2c watch, idle CPU", unit: "ms in 10 s", aim: 20, most: 1, do: func(w *world) ([]float64, error) {
			win, err := w.screen()
			if err != nil {
				return nil, err
			}
			time.Sleep(time.Second)
			before, _, _ := usage(win.cmd.Process.Pid)
			time.Sleep(watchTime)
			after, _, _ := usage(win.cmd.Process.Pid)
			return []float64{(after - before) * 10 / watchTime.Seconds()}, win.end()
		}},
		httpRow(),
	}
}

const watchTime = 5 * time.Second

// screen starts c2c watch and waits until it shows a session.
func (w *world) screen() (window, error) {
	win, err := w.window([]string{w.program("c2c"), "watch"})
	if err != nil {
		return win, err
	}
	return win, win.await("amber")
}

// ask asks amber a question, and amber answers as soon as the question is in its mailbox.
func ask(w *world) ([]float64, error) {
	if err := w.read("amber"); err != nil {
		return nil, err
	}
	answered := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	go func() { answered <- w.answer(ctx) }()
	ms, err := w.time(w.program("c2c"), "ask", "amber", "is it green?", "--wait", "10s")
	return one(ms, errors.Join(err, <-answered))
}

func (w *world) answer(ctx context.Context) error {
	path := filepath.Join(w.root, "amber.inbox.json")
	for ctx.Err() == nil {
		if info, err := os.Stat(path); err != nil || info.Size() < 10 {
			time.Sleep(100 * time.Microsecond)
			continue
		}
		var id string
		if err := w.mailbox("amber", func(ctx context.Context, box *inbox.Mailbox) error {
			msgs, err := box.Head(ctx, 1)
			if err == nil && len(msgs) == 0 {
				err = errors.New("the mailbox has no question")
			}
			if err == nil {
				id = msgs[0].ID
			}
			return err
		}); err != nil {
			return err
		}
		_, err := w.run("amber", nil, w.program("c2c"), "reply", id, "yes")
		return err
	}
	return fmt.Errorf("await the question: %w", ctx.Err())
}
