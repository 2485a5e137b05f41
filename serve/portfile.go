package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"c2c/broker"
	"c2c/internal/atomicfile"
	"c2c/internal/proc"
)

const (
	urlFile = "http-mcp.json"
	urlLock = "http-mcp.lock" // this file is in FilesDir
	// FilesDir is the directory of the daemon's own files, in the state directory.
	FilesDir = "http"
)

const maxURLFile = 16 << 10 // bytes; a person may have edited the file

// At is the content of http-mcp.json: where the daemon listens.
type At struct {
	URL     string    `json:"url"`
	Port    int       `json:"port"`
	PID     int       `json:"pid"`
	Start   int64     `json:"pid_start_time,omitempty"` // when the process started, in clock ticks since boot
	Version string    `json:"version"`
	Build   string    `json:"build,omitempty"` // Go's build id of the program
	Started time.Time `json:"started_at"`
	Root    string    `json:"root"` // the root for clients that name no root
	Dir     string    `json:"dir"`  // the project's directory of that root
}

// url returns the URL of the tools. It contains an address instead of the name "localhost", because
// some clients first try ::1 for that name.
func url(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp" }

// here returns the content of http-mcp.json for this process.
func (s *Server) here() (At, error) {
	root, err := broker.RootHere(s.cfg.Getenv, s.cfg.Dir)
	if err != nil {
		return At{}, err
	}
	at := At{URL: url(s.port), Port: s.port, PID: os.Getpid(), Version: broker.Version, Started: s.cfg.Now().UTC().Truncate(time.Second),
		Root: root, Dir: s.cfg.Dir}
	if stat, err := proc.Read(at.PID); err == nil {
		at.Start = stat.Start
	}
	at.Build = proc.OwnBuildID()
	return at, nil
}

// underURLLock calls the function f while no other process writes or removes http-mcp.json. f gets
// the directory FilesDir.
func underURLLock(ctx context.Context, state *atomicfile.Dir, f func(files *atomicfile.Dir) error) (err error) {
	dir, err := state.Sub(FilesDir, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return atomicfile.WithLock(ctx, dir, urlLock, func() error { return f(dir) })
}

// publish writes http-mcp.json, and saves the port for the next start.
func (s *Server) publish(ctx context.Context) error {
	at, err := s.here()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(at, "", "  ")
	if err != nil {
		return err
	}
	return underURLLock(ctx, s.cfg.State, func(files *atomicfile.Dir) error {
		port := append(strconv.AppendInt(nil, int64(s.port), 10), '\n')
		if err := files.Write(portFile, port); err != nil {
			return fmt.Errorf("save the port: %w", err)
		}
		return s.cfg.State.Write(urlFile, append(text, '\n'))
	})
}

// withdraw removes http-mcp.json if it still describes this process.
func (s *Server) withdraw(ctx context.Context) error {
	return underURLLock(ctx, s.cfg.State, func(*atomicfile.Dir) error {
		at, err := ReadAt(s.cfg.State)
		if errors.Is(err, fs.ErrNotExist) || err == nil && at.PID != os.Getpid() {
			return nil
		}
		return remove(s.cfg.State)
	})
}

func remove(state *atomicfile.Dir) error {
	if err := state.Remove(urlFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadAt returns where the daemon listens, or where it listened before it was killed. Without
// http-mcp.json the error is fs.ErrNotExist.
func ReadAt(state *atomicfile.Dir) (at At, err error) {
	data, err := state.ReadMost(urlFile, maxURLFile)
	if err != nil {
		return at, err
	}
	if err := json.Unmarshal(data, &at); err != nil {
		return At{}, fmt.Errorf("read %s/%s: %w", state.Path(), urlFile, err)
	}
	return at, nil
}

// Reap removes http-mcp.json if it is left from a daemon that was killed. The function isUp reports
// whether a daemon runs. Reap calls it while it holds the lock of the file, so Reap never removes
// the file of a daemon that has just started.
func Reap(ctx context.Context, state *atomicfile.Dir, isUp func() (bool, error)) (reaped bool, err error) {
	if _, err := state.Stat(urlFile); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = underURLLock(ctx, state, func(*atomicfile.Dir) error {
		if up, err := isUp(); err != nil || up {
			return err
		}
		_, err := state.Stat(urlFile)
		reaped = err == nil
		return remove(state)
	})
	return reaped, err
}
