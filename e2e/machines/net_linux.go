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

// Possible reports whether New can make machines on this computer.
func Possible() bool {
	return realRoot() && !slices.ContainsFunc(tools, func(tool string) bool { _, err := exec.LookPath(tool); return err != nil })
}

// Need skips the test if no machines can be made.
func Need(t testing.TB) {
	t.Helper()
	need.Tools(t, tools...)
	if !realRoot() {
		need.Skip(t, "run as root: sshd and several networks need it")
	}
}

// realRoot reports whether this process is root, and not only inside a user namespace.
func realRoot() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return os.Geteuid() == 0 && err == nil && len(strings.Fields(string(ids))) == 3 && strings.Fields(string(ids))[2] == "4294967295"
}

// prepare mounts private directories for the names of network namespaces, and for sshd.
var prepare = sync.OnceValue(func() (err error) {
	for _, dir := range []string{"/run/netns", "/run/sshd"} {
		err = errors.Join(err, os.MkdirAll(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
	}
	return err
})

// serial makes the names of networks unique, because several tests run at once.
var serial atomic.Int32

// Net is a network: some machines and the switch between them.
type Net struct {
	Patience time.Duration // how long Until waits

	t     testing.TB
	dir   string
	bin   string
	id    string
	cable int
	all   []*Machine
}

// New makes a network without machines. Its method Machine makes homes in dir; bin is the directory
// of c2c and c2cd.
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

// plug connects a namespace to the switch. It returns the name of the cable's end at the switch,
// and the address.
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

// inside returns a command line that runs argv in a network namespace.
func inside(space string, argv ...string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + space}, argv...)
}

// within runs f in a network namespace. The sockets that f opens stay in that namespace.
func within(space string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
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

// Until returns when look returns true. It calls look again whenever a file of c2c on a machine has
// changed.
func (n *Net) Until(what string, look func() bool) {
	n.t.Helper()
	var dirs []string
	for _, m := range n.all {
		dirs = append(dirs, filepath.Join(m.Home, ".c2c"))
	}
	until(n.t, n.Patience, what, look, nil, dirs...)
}

// Capture records all bytes on a machine's cable, from now to the end of the test.
func (n *Net) Capture(m *Machine) *Capture {
	n.t.Helper()
	c := &Capture{}
	fd := -1
	err := within(n.id+"switch", func() error {
		link, err := net.InterfaceByName(m.cable)
		if err != nil {
			return err
		}
		const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in network byte order
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20)
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}) // so that the loop sees the end of the test
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

// Capture holds the bytes that have passed a cable.
type Capture struct {
	mu   sync.Mutex
	data []byte
}

// Bytes returns the bytes so far.
func (c *Capture) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.data)
}
