package machines

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"c2c/e2e/need"
)

const sshd = "/usr/sbin/sshd"

var tools = []string{"ip", "nsenter", "ssh", "ssh-keygen", "git", sshd}

// Possible reports whether New can make machines here.
func Possible() bool {
	return realRoot() && !slices.ContainsFunc(tools, func(tool string) bool { _, err := exec.LookPath(tool); return err != nil })
}

// Need skips a test where no machines can be made.
func Need(t testing.TB) {
	t.Helper()
	need.Tools(t, tools...)
	if !realRoot() {
		need.Skip(t, "run as root: sshd and several networks need it")
	}
}

// realRoot reports whether this process is root of more than a user namespace of its own.
func realRoot() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return os.Geteuid() == 0 && err == nil && len(strings.Fields(string(ids))) == 3 && strings.Fields(string(ids))[2] == "4294967295"
}

// prepare gives this process tree directories of its own for the names of networks, and for sshd.
var prepare = sync.OnceValue(func() (err error) {
	for _, dir := range []string{"/run/netns", "/run/sshd"} {
		err = errors.Join(err, os.MkdirAll(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
	}
	return err
})

// serial tells the networks of tests apart that run at once.
var serial atomic.Int32

// Net is some machines and the switch between them.
type Net struct {
	Patience time.Duration // how long Until waits

	t     testing.TB
	dir   string
	bin   string
	id    string
	cable int
	all   []*Machine
}

// New makes a network without machines. Homes are made in dir; bin has c2c and c2cd.
func New(t testing.TB, dir, bin string) *Net {
	t.Helper()
	Need(t)
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	n := &Net{Patience: patience, t: t, dir: dir, bin: bin, id: fmt.Sprintf("net%d-", serial.Add(1))}
	n.space(n.id + "switch")
	n.run("ip", "-n", n.id+"switch", "link", "add", "bridge", "type", "bridge")
	n.run("ip", "-n", n.id+"switch", "link", "set", "bridge", "up")
	return n
}

// space makes a network namespace.
func (n *Net) space(name string) {
	n.t.Helper()
	n.run("ip", "netns", "add", name)
	n.t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
}

func (n *Net) run(name string, args ...string) string {
	n.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// plug gives a namespace an address in the network, and names its cable.
func (n *Net) plug(space string) (cable, addr string) {
	n.t.Helper()
	n.cable++
	cable, addr = fmt.Sprint("cable", n.cable), fmt.Sprint("10.9.0.", n.cable)
	n.run("ip", "link", "add", "wire", "netns", space, "type", "veth", "peer", "name", cable, "netns", n.id+"switch")
	n.run("ip", "-n", space, "addr", "add", addr+"/24", "dev", "wire")
	for _, link := range [][2]string{{space, "lo"}, {space, "wire"}, {n.id + "switch", cable}} {
		n.run("ip", "-n", link[0], "link", "set", link[1], "up")
	}
	n.run("ip", "-n", n.id+"switch", "link", "set", cable, "master", "bridge")
	return cable, addr
}

// inside is a command line that runs another one in a namespace.
func inside(space string, argv ...string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + space}, argv...)
}

// within runs f in a namespace. The sockets that f opens stay there.
func within(space string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		fd, err := unix.Open("/run/netns/"+space, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			unix.Close(fd)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// Until returns when look returns true. It looks again whenever a file of c2c has changed on a machine.
func (n *Net) Until(what string, look func() bool) {
	n.t.Helper()
	var dirs []string
	for _, m := range n.all {
		dirs = append(dirs, filepath.Join(m.Home, ".c2c"))
	}
	until(n.t, n.Patience, what, look, nil, dirs...)
}

// Capture records all that passes a machine's cable, from now on to the end of the test.
func (n *Net) Capture(m *Machine) *Capture {
	n.t.Helper()
	c := &Capture{}
	fd := -1
	err := within(n.id+"switch", func() error {
		link, err := net.InterfaceByName(m.cable)
		if err != nil {
			return err
		}
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the order of the network
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20)
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}) // to see that it is over
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index})
	})
	if err != nil {
		n.t.Fatalf("capture at %s: %v", m.Name, err)
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 1<<16)
		for {
			k, _, err := unix.Recvfrom(fd, buf, 0)
			if err == nil {
				c.mu.Lock()
				c.data = append(c.data, buf[:k]...)
				c.mu.Unlock()
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	n.t.Cleanup(func() { close(over); <-ended; unix.Close(fd) })
	return c
}

// Capture is what has passed a cable.
type Capture struct {
	mu   sync.Mutex
	data []byte
}

// Bytes gives all of it so far.
func (c *Capture) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.data)
}
