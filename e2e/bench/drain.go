package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	drained = 10_000
	drains  = 15
)

// drain compares the reading of a long mailbox with the least that it takes: decode, archive, remove.
func (b *bench) drain() error {
	columns()
	f := figure{what: fmt.Sprintf("c2c poll-inbox, %d waiting (%d pairs)", drained, drains), limit: "JSON decode, archive, 2 fsync", aim: "1.5"}
	return b.row(f, drains, func(w *world) (float64, error) {
		if _, err := w.fill("dune", drained); err != nil {
			return 0, err
		}
		return c2c("poll-inbox", "--session-id", "dune", "--json")(w)
	}, plainDrain)
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

// plainDrain does with a plain file what a drain does with a mailbox.
func plainDrain(w *world) (float64, error) {
	waiting := filepath.Join(w.home, "waiting")
	line, err := json.Marshal(plain{From: "birch", To: "dune", Content: strings.Repeat("x", bodySize), TS: 1763712345.5,
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", Deferrable: true})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(waiting, bytes.Repeat(append(line, '\n'), drained), 0o600); err != nil {
		return 0, err
	}
	dir, err := os.Open(w.home)
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
	if err := plainArchive(archive, waiting); err != nil {
		return 0, err
	}
	if err := os.Remove(waiting); err != nil {
		return 0, err
	}
	err = dir.Sync()
	return since(start), err
}

func plainArchive(f *os.File, waiting string) error {
	data, err := os.ReadFile(waiting)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for line := range bytes.Lines(data) {
		var m plain
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
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
