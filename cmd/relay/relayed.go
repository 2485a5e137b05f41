// Package relay runs c2c relay: one process that carries mail to other machines and from them,
// for all roots and all paired hosts of a user. It also has the commands that start, stop and query
// this process, and that pair hosts.
//
// Beside the files of package relay in the folder relay, <state directory>/relay has:
//
//	relay.lock, .pid, .log  see package internal/daemon
//	relay.sock              the socket over which `c2c relay --stdio` reaches the relay
//	links.json              the last state of the link to each host; it means nothing while no relay runs
//	wanted.lock             a process closes it to make the relay check the roots
//	stopped                 exists if a person has stopped the relay: then only c2c relay start starts it
//	hub.json                how this host reaches its hub; secret
//	ssh_key, ssh_key.pub    the relay's ssh key; at other hosts it gives access only to the relay
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/project"
	"c2c/relay"
	"c2c/relay/ssh"
)

const (
	socketFile  = "relay.sock"
	linksFile   = "links.json"
	wantedFile  = "wanted.lock"
	stoppedFile = "stopped"
	maxLinks    = 1 << 20

	startTime = 30 * time.Second // how long the relay may take to start
	dialTime  = 15 * time.Second // how long the relay may take to accept a link; a suspended relay accepts none
)

// Relay is the relay of this user. Commands start, stop and query it through this type.
type Relay struct {
	daemon.Daemon        // its Dir is nil if no host was ever paired here
	State         string // the state directory
}

// Open opens the relay's files. If create is true, it makes missing files. Without create, Dir
// stays nil if there is no directory.
func Open(getenv func(string) string, create bool) (*Relay, error) {
	path, source := project.StateDir(getenv)
	if path == "" || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("find the state directory: set XDG_STATE_HOME or HOME to an absolute path (%s is %q)", source, path)
	}
	r := &Relay{State: path, Daemon: daemon.Daemon{Name: "relay", What: "relay", Verb: "relay"}}
	open := atomicfile.Open
	if create {
		open = atomicfile.Create
	}
	dir, err := open(filepath.Join(path, relay.HostsDir))
	if errors.Is(err, fs.ErrNotExist) && !create {
		return r, nil
	}
	r.Dir = dir
	return r, err
}

// Close closes the relay's files.
func (r *Relay) Close() {
	if r.Dir != nil {
		r.Dir.Close()
	}
}

// Start starts the relay, unless it runs already. The relay gets the variables that it needs from
// env.
func (r *Relay) Start(ctx context.Context, env []string) (pid int, started bool, err error) {
	if pid, err := r.PID(); err != nil || pid != 0 {
		return pid, false, err
	}
	if err := r.Dir.Remove(stoppedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("it did not start within %s", startTime))
	defer cancel()
	pid, err = r.Daemon.Start(ctx, "/", daemon.SafeEnv(env, Settings()), "relay", "run")
	if runs, _ := r.PID(); err != nil && runs != 0 { // another process has started the relay first
		return runs, false, nil
	}
	return pid, err == nil, err
}

// ErrStopped means that a person has stopped the relay.
var ErrStopped = errors.New("the relay was stopped: c2c relay start lets mail go to other machines again")

// Ensure is like Start, but returns ErrStopped if a person has stopped the relay. If it returns an
// error, the mail waits.
func (r *Relay) Ensure(ctx context.Context, env []string) error {
	if runs, err := r.Runs(); err != nil || runs {
		return err
	}
	if _, err := r.Dir.Stat(stoppedFile); err == nil {
		return ErrStopped
	}
	_, _, err := r.Start(ctx, env)
	return err
}

// Want makes the relay look for mail in the roots that it has not opened, and starts the relay if
// necessary. Call it after putting mail into an outbox, unless the relay has that root open.
func (r *Relay) Want(ctx context.Context, env []string) error {
	f, err := r.Dir.OpenHandle(wantedFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return r.Ensure(ctx, env)
}

// Stop ends the relay, and records that a person has stopped it.
func (r *Relay) Stop(ctx context.Context) (ran bool, err error) {
	if err := r.Dir.Replace(stoppedFile, []byte("by a person\n")); err != nil {
		return false, err
	}
	return r.Daemon.Stop(ctx)
}

// Hosts opens the list of the paired hosts.
func (r *Relay) Hosts(now clock) *relay.HostList { return relay.OpenHosts(r.Dir, now) }

// Links returns the running relay's link to each host; nil if no relay runs.
func (r *Relay) Links() (all []Link, err error) {
	if runs, err := r.Runs(); err != nil || !runs {
		return nil, err
	}
	data, err := r.Dir.ReadMost(linksFile, maxLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(r.Dir.Path(), linksFile), err)
	}
	return all, nil
}

// maxSocketPath is below every system's limit for the path of a socket, which is 104 bytes on
// macOS.
const maxSocketPath = 100

// socket returns a short path of the relay's socket, valid until release is called.
func (r *Relay) socket() (path string, release func(), err error) {
	path = filepath.Join(r.Dir.Path(), socketFile)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path %s is too long for a socket: set XDG_STATE_HOME to a shorter path", path)
	}
	dir, err := os.Open(r.Dir.Path())
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), socketFile), func() { dir.Close() }, nil
}

// listen opens the socket for links from ssh. The caller holds the daemon's lock, so an existing
// socket was left by a dead process.
func (r *Relay) listen() (net.Listener, error) {
	if err := r.Dir.Remove(socketFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path, release, err := r.socket()
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for other machines: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the path may be below /proc/self/fd, and not valid any more
	return l, nil
}

// Stdio copies data from in to the relay, and from the relay to out. It starts the relay if
// necessary. When another host connects, ssh runs c2c relay --stdio, which calls Stdio.
func (r *Relay) Stdio(ctx context.Context, env []string, in *os.File, out *os.File) error {
	if err := r.Ensure(ctx, env); err != nil {
		return err
	}
	path, release, err := r.socket()
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("unix", path, dialTime)
	release()
	if err != nil {
		return fmt.Errorf("reach the relay of this host: %w", err)
	}
	return ssh.Stdio(conn, in, out)
}

// touch makes a file if it is missing, so that it can be watched.
func touch(dir *atomicfile.Dir, name string) error {
	l, err := atomicfile.OpenLocked(dir, name)
	if err != nil {
		return err
	}
	return l.Release()
}
