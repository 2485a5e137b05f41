// Package relay runs c2c relay: a part of the daemon that carries mail to other machines and from
// them, for all roots and all paired hosts of a user. It also has the commands that start, stop and
// query this part, and that pair hosts.
//
// Beside the files of package relay in the folder relay, <state directory>/relay has:
//
//	relay.sock              the socket over which `c2c relay --stdio` reaches the relay
//	wanted.lock             a process closes it to make the relay check the roots
//	hub.json                how this host reaches its hub; secret
//	ssh_key, ssh_key.pub    the relay's ssh key; at other hosts it gives access only to the relay
package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/project"
	"c2c/relay"
	"c2c/relay/ssh"
)

const (
	socketFile = "relay.sock"
	wantedFile = "wanted.lock"

	dialTime = 15 * time.Second // how long the relay may take to accept a link; a suspended relay accepts none
)

// Name is the name of the relay among the parts of the daemon.
const Name = "relay"

// Relay is the relay of this user. Commands start, stop and query it through this type.
type Relay struct {
	daemon.Part
	Dir   *atomicfile.Dir // nil if no host was ever paired here
	State string          // the state directory
}

// Open opens the relay's files. If create is true, it makes missing files. Without create, Dir
// stays nil if there is no directory.
func Open(getenv func(string) string, create bool) (*Relay, error) {
	path, err := project.FindStateDir(getenv)
	if err != nil {
		return nil, err
	}
	r := &Relay{State: path, Part: daemon.Part{ID: Name, Name: "relay"}}
	if r.Daemon, err = daemon.Open(path, create); err != nil {
		return r, err
	}
	r.Dir, err = atomicfile.CreateIf(filepath.Join(path, relay.HostsDir), create)
	return r, err
}

// Close closes the relay's files.
func (r *Relay) Close() {
	r.Part.Close()
	if r.Dir != nil {
		r.Dir.Close()
	}
}

// Start switches the relay on, as daemon.Part does, but an error for one that a person has stopped is
// ErrStopped.
func (r *Relay) Start(ctx context.Context, b daemon.Begin) error {
	_, err := r.Part.Start(ctx, b)
	if errors.Is(err, daemon.ErrStopped) {
		err = ErrStopped
	}
	return err
}

// NeedHost returns an error if no machine is paired with this one, so that the relay has nothing to
// do. It returns nil if the list cannot be read: the relay then says so.
func NeedHost(getenv func(string) string) error {
	r, err := Open(getenv, false)
	if err != nil {
		return nil
	}
	defer r.Close()
	var all []relay.Host
	if r.Dir != nil {
		all, err = r.Hosts(time.Now).All()
	}
	if err != nil || slices.ContainsFunc(all, func(h relay.Host) bool { return h.Revoked == 0 }) {
		return nil
	}
	return cli.WithHint(errors.New("no machine is paired with this one"), "c2c relay add USER@HOST, or c2c relay pair, pairs one")
}

// ErrStopped means that a person has stopped the relay.
var ErrStopped = errors.New("the relay was stopped: c2c relay start lets mail go to other machines again")

// Want makes the relay look for mail in the roots that it has not opened, and starts the relay if
// necessary; it does nothing if no machine is paired. Call it after putting mail into an outbox,
// unless the relay has that root open. If a person has stopped the relay, said is
// broker.SaysStopped.
func Want(ctx context.Context, getenv func(string) string) (said string, err error) {
	if NeedHost(getenv) != nil {
		return "", nil
	}
	r, err := Open(getenv, true)
	if err != nil {
		return "", err
	}
	defer r.Close()
	if err := touch(r.Dir, wantedFile); err != nil {
		return "", err
	}
	err = r.Start(ctx, daemon.Begin{Unasked: true})
	if errors.Is(err, ErrStopped) {
		return broker.SaysStopped, nil
	}
	return "", err
}

// Hosts opens the list of the paired hosts.
func (r *Relay) Hosts(now clock) *relay.HostList { return relay.OpenHosts(r.Dir, now) }

// Links returns the running relay's link to each host; nil if no relay runs.
func (r *Relay) Links() (all []Link, err error) {
	err = r.About(&all)
	return all, err
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
func (r *Relay) Stdio(ctx context.Context, in *os.File, out *os.File) error {
	if err := r.Start(ctx, daemon.Begin{Unasked: true}); err != nil {
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
