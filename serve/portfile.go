package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"c2c/broker"
	"c2c/internal/atomicfile"
)

const (
	urlFile = "http-mcp.json"
	// FilesDir is the directory of the daemon's own files, in the state directory.
	FilesDir = "http"
)

// At says where the daemon listens. It is the content of http-mcp.json.
type At struct {
	URL     string    `json:"url,omitempty"`
	Port    int       `json:"port,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started_at,omitzero"`
	Root    string    `json:"root,omitempty"` // the root for clients that name no root
	Dir     string    `json:"dir,omitempty"`  // the project's directory of that root
}

// url returns the URL of the tools. It contains an address instead of the name "localhost", because
// some clients first try ::1 for that name.
func url(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp" }

// At returns where the server listens. It is known after Listen.
func (s *Server) At() (At, error) {
	root, err := broker.RootHere(s.cfg.Getenv, s.cfg.Dir)
	return At{URL: url(s.port), Port: s.port, PID: os.Getpid(), Version: broker.Version, Started: s.cfg.Now().UTC().Truncate(time.Second),
		Root: root, Dir: s.cfg.Dir}, err
}

// URL returns the URL of the tools. It is known after Listen.
func (s *Server) URL() string { return url(s.port) }

// publish writes http-mcp.json, and saves the port for the next start.
func (s *Server) publish() error {
	at, err := s.At()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(at, "", "  ")
	if err != nil {
		return err
	}
	files, err := s.cfg.State.Sub(FilesDir, true)
	if err != nil {
		return err
	}
	defer files.Close()
	if err := files.Write(portFile, append(strconv.AppendInt(nil, int64(s.port), 10), '\n')); err != nil {
		return fmt.Errorf("save the port: %w", err)
	}
	return s.cfg.State.Write(urlFile, append(text, '\n'))
}

// withdraw removes http-mcp.json, of this server or of one that was killed.
func (s *Server) withdraw() error { return atomicfile.UnlessAbsent(s.cfg.State.Remove(urlFile)) }
