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
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/process/procstat"
	"c2c/project"
)

const (
	urlFile = "http-mcp.json"
	urlLock = "http-mcp.lock" // in http
	// FilesDir is the directory, in the state directory, of the daemon's own files.
	FilesDir = "http"
)

const maxURLFile = 16 << 10 // bytes; people edit it

// At is the content of http-mcp.json, which says where the daemon listens.
type At struct {
	URL       string    `json:"url"`
	Port      int       `json:"port"`
	PID       int       `json:"pid"`
	Start     int64     `json:"pid_start_time,omitempty"` // in ticks since boot
	Namespace string    `json:"pid_namespace,omitempty"`
	Version   string    `json:"version"`
	Build     string    `json:"build,omitempty"` // the id that Go gave to this build
	Started   time.Time `json:"started_at"`
	Root      string    `json:"root"` // for clients that name no root
	Dir       string    `json:"dir"`  // the project with that root
}

// url returns the URL of the tools. It has an address, not "localhost", because some clients try that at ::1 first.
func url(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp" }

// here describes this process as the listener.
func (s *Server) here() (At, error) {
	root, _, err := project.FindRoot(s.cfg.Getenv, s.cfg.Dir)
	if err != nil {
		return At{}, err
	}
	at := At{URL: url(s.port), Port: s.port, PID: os.Getpid(), Version: broker.Version, Started: s.cfg.Now().UTC().Truncate(time.Second),
		Root: root, Dir: s.cfg.Dir}
	if stat, err := procstat.Read(at.PID); err == nil {
		at.Start = stat.Start
	}
	at.Build = ownBuild()
	at.Namespace, _ = os.Readlink("/proc/self/ns/pid") // "" on a system without namespaces
	return at, nil
}

// ownBuild returns the id of the running build. Without /proc it reads the program's file, which may have been replaced. That is
// unlikely, because a daemon calls ownBuild at its start.
func ownBuild() string {
	if id := procstat.BuildID("/proc/self/exe"); id != "" {
		return id
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return procstat.BuildID(path)
}

// underURLLock runs f while no other process writes or removes the file. files is the directory http.
func underURLLock(ctx context.Context, state *atomicfile.Dir, f func(files *atomicfile.Dir) error) (err error) {
	dir, err := state.Sub(FilesDir, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return filelock.With(ctx, dir, urlLock, func() error { return f(dir) })
}

// publish writes where the daemon listens, and saves the port for the next start.
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
			return fmt.Errorf("keep the port: %w", err)
		}
		return s.cfg.State.Write(urlFile, append(text, '\n'))
	})
}

// withdraw removes the file, if it still describes this process.
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

// ReadAt reads where a daemon listens, or did before it was killed. The error is fs.ErrNotExist if there is no file.
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

// Reap removes the file of a daemon that was killed. runs reports whether a daemon runs. Reap calls runs under the lock of the
// file, so it never removes the file of a daemon that starts meanwhile.
func Reap(ctx context.Context, state *atomicfile.Dir, runs func() (bool, error)) (reaped bool, err error) {
	if _, err := state.Stat(urlFile); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = underURLLock(ctx, state, func(*atomicfile.Dir) error {
		if up, err := runs(); err != nil || up {
			return err
		}
		_, err := state.Stat(urlFile)
		reaped = err == nil
		return remove(state)
	})
	return reaped, err
}
