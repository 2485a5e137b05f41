package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"c2c/inbox"
)

const (
	rivalBody    = 210 // bytes
	rivalSenders = 8
	rivalTrials  = 25
)

// ours are c2c's figures in the words of others: medians in ms, and messages a second.
type ours struct{ send, read, readMany, hook, senders float64 }

// rivals prints c2c beside what other programs of the kind took. Those were measured on the same kind of
// machine, on another day and with a harness that adds about 1 ms to each process.
func (w world) rivals() error {
	o, err := w.ours()
	if err != nil {
		return err
	}
	fmt.Printf(`
## Others

Medians in ms, bodies of %d bytes. c2c in this run; the others on the same kind of machine on 2026-11-21: a Go
program with one durable replace took 3.1 to 3.2 there, `+"`sh -c :`"+` 1.1 to 1.3. What wakes an idle session is
measured by `+"`make e2e`"+`, which prints it; 12 trials each on this machine.

| what | c2c | AMQ 0.68.0 | agmsg 7b68947 | claude-peers 640183f | ACC 6c4c19d |
|---|---:|---:|---:|---:|---:|
| send | %.1f | 11.2 to 11.4 | 12.0 to 13.3 | 10.5 to 10.8 | 430 to 442 |
| %d senders at once to one mailbox, messages/s | %.0f, none refused | 171 to 193 | 50 to 79, 60 to 64 %% refused | 173 to 228 | 4.9 to 5.3, 7 to 11 %% refused |
| read of 1 | %.1f | 8.1 | 14.6 | 9.7 | 575 |
| read of 1,000 | %.0f | 1,382 | 62 | 312 | 117 waiting: 15,600, shows 0 |
| hook, nothing waits | %.1f | 92 (Stop) | 56 to 65 (Stop) | none | 160 to 179 |
| idle Claude Code is rung | 109 to 132 | 883 | never | 385 | never |
| idle Codex is rung | 63 to 77 | 893 | never | | never |
`, rivalBody, o.send, rivalSenders, o.senders, o.read, o.readMany, o.hook)
	return nil
}

func (w world) ours() (o ours, err error) {
	send := []string{w.program("c2c"), "send", "amber", strings.Repeat("x", rivalBody)}
	for _, m := range []struct {
		to   *float64
		each func() (float64, error)
	}{
		{&o.send, w.emptied("amber", send)},
		{&o.read, func() (float64, error) { return w.reads(1) }},
		{&o.readMany, func() (float64, error) { return w.reads(1000) }},
		{&o.hook, w.emptied("amber", []string{w.script()})},
		{&o.senders, func() (float64, error) { return w.senders(send) }},
	} {
		var took []float64
		for range rivalTrials {
			one, err := m.each()
			if err != nil {
				return o, err
			}
			took = append(took, one)
		}
		*m.to = at(took, 50)
	}
	return o, nil
}

// reads takes n waiting messages with one c2c, and returns milliseconds.
func (w world) reads(n int) (float64, error) {
	box, err := w.emptyBox("amber")
	if err != nil {
		return 0, err
	}
	msgs := make([]inbox.Message, n)
	for i := range msgs {
		msgs[i] = inbox.Message{From: "birch", To: "amber", Content: strings.Repeat("x", rivalBody)}
	}
	if _, err := box.Deliver(context.Background(), msgs...); err != nil {
		return 0, err
	}
	return w.time([]string{w.program("c2c"), "poll-inbox", "--session-id", "amber", "--json"})
}

// senders lets some send one message after the other, and returns messages a second.
func (w world) senders(send []string) (float64, error) {
	if _, err := w.emptyBox("amber"); err != nil {
		return 0, err
	}
	start := time.Now()
	err := atOnce(rivalSenders, func() error {
		for range each {
			if _, err := w.time(send); err != nil {
				return err
			}
		}
		return nil
	})
	return rivalSenders * each / time.Since(start).Seconds(), err
}
