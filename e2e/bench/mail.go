package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

const (
	fullMailbox = 20_000 // messages, and c2c refuses more: the hook that reads them first has 4 s for it
	manyWaiting = 100_000
	drained     = 10_000
	drains      = 15
)

// fill puts messages of 200 bytes into a mailbox, in a few commits that go past the inbox.
func fill(dir *atomicfile.Dir, sid string, n int) (*inbox.Mailbox, error) {
	box, err := inbox.Open(dir, sid, inbox.Config{Limits: inbox.Limits{Messages: 2 * manyWaiting}})
	if err != nil {
		return nil, err
	}
	const commit = 1000
	msgs := slices.Repeat([]inbox.Message{{From: "birch", To: sid, Content: strings.Repeat("x", 200), Deferrable: true}}, commit)
	for range n / commit {
		if _, err := box.Deliver(context.Background(), msgs...); err != nil {
			return nil, err
		}
	}
	return box, nil
}

// backlog compares a send to a full mailbox with one to an empty one, and a commit to one that is fuller
// than c2c allows.
func (w world) backlog() error {
	box, err := fill(w.dir, "cedar", fullMailbox-1000)
	if err != nil {
		return err
	}
	f := figure{what: fmt.Sprintf("c2c send, %d waiting", fullMailbox), limit: "c2c send, 0 waiting", aim: "1.3"}
	f, err = f.measure(pairs, w.command([]string{w.program("c2c"), "send", "cedar", "hello"}),
		w.emptied("amber", []string{w.program("c2c"), "send", "amber", "hello"}))
	if err != nil {
		return err
	}
	f.print()
	if _, err := fill(w.dir, "cedar", manyWaiting-fullMailbox); err != nil {
		return err
	}
	empty, err := inbox.Open(w.dir, "amber", inbox.Config{})
	if err != nil {
		return err
	}
	f = figure{what: fmt.Sprintf("Deliver in process, %d waiting", manyWaiting), limit: "Deliver in process, 0 waiting", aim: "1.3"}
	f, err = f.measure(pairs, func() (float64, error) { return deliver(box) }, func() (float64, error) {
		if _, err := empty.Drain(context.Background(), "bench"); err != nil {
			return 0, err
		}
		return deliver(empty)
	})
	if err != nil {
		return err
	}
	f.print()
	return nil
}

func deliver(box *inbox.Mailbox) (float64, error) {
	start := time.Now()
	_, err := box.Deliver(context.Background(), inbox.Message{From: "birch", To: "amber", Content: "hello"})
	return since(start), err
}

// drain compares the emptying of a mailbox with the least that it takes: decode, archive, remove.
func (w world) drain() error {
	f := figure{what: fmt.Sprintf("drain of %d (%d pairs)", drained, drains), limit: "JSON decode, archive, 2 fsync", aim: "1.5"}
	f, err := f.measure(drains, func() (float64, error) {
		box, err := fill(w.dir, "dune", drained)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		msgs, err := box.Drain(context.Background(), "bench")
		took := since(start)
		if err == nil && len(msgs) != drained {
			err = fmt.Errorf("%d messages drained", len(msgs))
		}
		return took, err
	}, w.plainDrain)
	if err != nil {
		return err
	}
	f.print()
	return nil
}

// plainDrain does with a plain file what a drain does with a mailbox.
func (w world) plainDrain() (float64, error) {
	if _, err := fill(w.dir, "dune", drained); err != nil {
		return 0, err
	}
	spill := filepath.Join(w.root, "dune.spill.jsonl")
	dir, err := os.Open(w.root)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	archive, err := os.Create(filepath.Join(w.home, "archive"))
	if err != nil {
		return 0, err
	}
	defer archive.Close()
	start := time.Now()
	msgs, err := plainDecode(spill)
	if err != nil || len(msgs) != drained {
		return 0, fmt.Errorf("%d messages read: %w", len(msgs), err)
	}
	if err := plainArchive(archive, msgs); err != nil {
		return 0, err
	}
	if err := os.Remove(spill); err != nil {
		return 0, err
	}
	err = dir.Sync()
	return since(start), err
}

// plain is a message as encoding/json reads and writes it by itself.
type plain struct {
	DrainedAt  float64 `json:"drained_at"`
	DrainedBy  string  `json:"drained_by"`
	SessionID  string  `json:"session_id"`
	From       string  `json:"from_alias"`
	To         string  `json:"to_alias"`
	Content    string  `json:"content"`
	TS         float64 `json:"ts"`
	ID         string  `json:"message_id"`
	Deferrable bool    `json:"deferrable"`
}

func plainDecode(path string) (msgs []plain, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var spilled struct{ Message plain }
		if err := json.Unmarshal(line, &spilled); err != nil {
			return nil, err
		}
		msgs = append(msgs, spilled.Message)
	}
	return msgs, nil
}

func plainArchive(f *os.File, msgs []plain) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, m := range msgs {
		m.DrainedAt, m.DrainedBy, m.SessionID = 1763712345.5, "bench", "dune"
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	if _, err := f.Write(out.Bytes()); err != nil {
		return err
	}
	return f.Sync()
}
