package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const drained = 10_000

// plain is a message for encoding/json, without any of c2c's code.
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

// plainDrain does with a plain file the same as c2c with a mailbox when it hands over all messages:
// it decodes the file, archives the messages and removes the file.
func plainDrain(w *world) ([]float64, error) {
	waiting := filepath.Join(w.home, "waiting")
	line, err := json.Marshal(plain{From: "birch", To: "dune", Content: strings.Repeat("x", waitingBody), TS: 1763712345.5,
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", Deferrable: true})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(waiting, bytes.Repeat(append(line, '\n'), drained), 0o600); err != nil {
		return nil, err
	}
	dir, err := os.Open(w.home)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	archive, err := os.Create(filepath.Join(w.home, "archive"))
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	start := time.Now()
	if err := plainArchive(archive, waiting); err != nil {
		return nil, err
	}
	if err := os.Remove(waiting); err != nil {
		return nil, err
	}
	err = dir.Sync()
	return one(since(start), err)
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
