package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"c2c/e2e/lab"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay"
)

// Machine simulates a machine: a home directory in a network namespace of its own.
type Machine struct {
	Name, Home string
	Project    string   // a directory below the home; on each machine it is a clone of the same project
	SID        string   // the id of its only session, and the session's alias
	Addr       string   // its IP address
	Space      string   // its network namespace
	Env        []string // additional variables for all its commands

	t       testing.TB
	net     *Net
	cable   string // the switch's end of its cable
	sshd    bool
	reaches []*Machine // the machines that it can reach by ssh
}

// Machine makes a machine whose project is a clone of remote, and registers a session there with
// sid as id and alias.
func (n *Net) Machine(name, sid, remote string) *Machine {
	n.t.Helper()
	m := n.Bare(name, filepath.Join(n.dir, name), filepath.Join(n.dir, name, "site"))
	m.SID = sid
	m.Clone(remote)
	m.C2C("register", sid)
	return m
}

// Bare makes a machine without a session. Its project, at path, is not a clone yet.
func (n *Net) Bare(name, home, path string) *Machine {
	n.t.Helper()
	m := &Machine{t: n.t, net: n, Name: name, Home: home, Project: path, Space: n.id + name}
	n.space(m.Space)
	m.cable, m.Addr = n.plug(m.Space)
	for _, dir := range []string{m.Project, filepath.Join(home, "bin"), filepath.Join(home, ".ssh")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			n.t.Fatal(err)
		}
	}
	n.all = append(n.all, m)
	n.t.Cleanup(func() {
		m.Cmd(nil, "c2c", "daemon", "stop").Run()
		if n.t.Failed() {
			log, _ := os.ReadFile(filepath.Join(m.Home, ".c2c", "daemon", "daemon.log"))
			n.t.Logf("%s:\n%s", m.Name, log[max(0, len(log)-8<<10):])
		}
	})
	return m
}

// Clone makes the project look to c2c like a clone of a remote.
func (m *Machine) Clone(remote string) {
	m.t.Helper()
	m.run(exec.Command("git", "-C", m.Project, "init", "-q"))
	m.run(exec.Command("git", "-C", m.Project, "remote", "add", "origin", remote))
}

// Remote changes the remote of the project.
func (m *Machine) Remote(remote string) {
	m.t.Helper()
	m.run(exec.Command("git", "-C", m.Project, "remote", "set-url", "origin", remote))
}

// Path returns the search path (PATH) of the machine.
func (m *Machine) Path() string { return m.Home + "/bin:" + m.net.bin + ":/usr/bin:/bin" }

// Inside returns the words that, before a command line, run it on the machine.
func (m *Machine) Inside() []string { return inside(m.Space) }

// Listen listens at a loopback port of the machine, which only the machine's own programs reach.
func (m *Machine) Listen() net.Listener {
	m.t.Helper()
	var l net.Listener
	if err := within(m.Space, func() (err error) { l, err = net.Listen("tcp4", "127.0.0.1:0"); return err }); err != nil {
		m.t.Fatalf("listen on %s: %v", m.Name, err)
	}
	return l
}

// Cmd returns a command that runs on the machine.
func (m *Machine) Cmd(env []string, program string, args ...string) *exec.Cmd {
	argv := inside(m.Space, append([]string{program}, args...)...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = m.Project, slices.Concat([]string{"HOME=" + m.Home, "PATH=" + m.Path()}, m.Env, env)
	return cmd
}

func (m *Machine) run(cmd *exec.Cmd) string {
	m.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %q: %v\n%s", m.Name, cmd.Args, err, out)
	}
	return string(out)
}

// C2C runs c2c as the session of the machine.
func (m *Machine) C2C(args ...string) string {
	m.t.Helper()
	return m.run(m.Cmd(m.Session(), "c2c", args...))
}

// Session returns the environment variable that makes a command run as the machine's session.
func (m *Machine) Session() []string { return []string{"C2C_MCP_SESSION_ID=" + m.SID} }

// Typed runs c2c on a terminal, as a person does, and types an answer to its question. It returns
// the output.
func (m *Machine) Typed(answer string, args ...string) (string, error) {
	m.t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		m.t.Fatal(err)
	}
	defer keyboard.Close()
	defer tty.Close()
	fmt.Fprintln(keyboard, answer)
	cmd := m.Cmd(nil, "c2c", args...)
	cmd.Stdin, cmd.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Person runs c2c as a person who answers yes to its question.
func (m *Machine) Person(args ...string) string {
	m.t.Helper()
	out, err := m.Typed("yes", args...)
	if err != nil {
		m.t.Fatalf("%s: c2c %q: %v\n%s", m.Name, args, err, out)
	}
	return out
}

// Pair pairs two machines by ssh, and returns when the link is up.
func (n *Net) Pair(from, to *Machine) {
	n.t.Helper()
	n.Reach(from, to)
	if out := from.Person("relay", "add", to.Name, "--as", to.Name, "--name", from.Name); !strings.Contains(out, "the link is up") {
		n.t.Fatalf("pair %s with %s:\n%s", from.Name, to.Name, out)
	}
}

// Cut unplugs the machine's cable, or plugs it in again.
func (m *Machine) Cut(away bool) {
	m.t.Helper()
	m.net.run("ip", "-n", m.net.id+"switch", "link", "set", m.cable, map[bool]string{true: "down", false: "up"}[away])
}

// Root opens the directory with the mail of the machine, which must be its only one.
func (m *Machine) Root() *atomicfile.Dir {
	m.t.Helper()
	roots := m.roots()
	if len(roots) != 1 {
		m.t.Fatalf("%s has the roots %q", m.Name, roots)
	}
	dir, err := atomicfile.Open(roots[0])
	if err != nil {
		m.t.Fatal(err)
	}
	return dir
}

func (m *Machine) roots() []string {
	m.t.Helper()
	roots, err := filepath.Glob(filepath.Join(m.Home, ".c2c", "repos", "*", "broker"))
	if err != nil {
		m.t.Fatal(err)
	}
	return roots
}

// Put stores a message for a session of another machine, as c2c send does. If the relay does not
// have the root open, it notices the message only after c2cd daemon want.
func (m *Machine) Put(to, id, text string) {
	m.t.Helper()
	dir := m.Root()
	defer dir.Close()
	_, host, _ := strings.Cut(to, "@")
	box, err := inbox.Open(dir, "host-"+host, inbox.Config{})
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := box.Deliver(context.Background(), mail.Message{From: m.SID, FromSession: m.SID, To: to, ID: id, Content: text}); err != nil {
		m.t.Fatal(err)
	}
}

// Waits reports whether a mailbox has mail in any project. sid is a session, or host-<name> for the
// outbox of another machine.
func (m *Machine) Waits(sid string) bool {
	m.t.Helper()
	return slices.ContainsFunc(m.roots(), func(root string) bool {
		dir, err := atomicfile.Open(root)
		if err != nil {
			m.t.Fatal(err)
		}
		defer dir.Close()
		box, err := inbox.Open(dir, sid, inbox.Config{})
		if err != nil {
			m.t.Fatal(err)
		}
		used, err := box.Used()
		if err != nil {
			m.t.Fatal(err)
		}
		return used
	})
}

// Pending returns how many messages wait for the session.
func (m *Machine) Pending() int {
	m.t.Helper()
	dir := m.Root()
	defer dir.Close()
	box, err := inbox.Open(dir, m.SID, inbox.Config{})
	if err != nil {
		m.t.Fatal(err)
	}
	msgs, err := box.PeekAll(context.Background())
	if err != nil {
		m.t.Fatal(err)
	}
	return len(msgs)
}

// Trouble returns the lines in which c2c tells the machine's person about trouble with other
// machines, "" if there is none.
func (m *Machine) Trouble() (words string) {
	m.t.Helper()
	for line := range strings.Lines(m.C2C("list", "--all-hosts")) {
		if strings.Contains(line, "trouble, ") {
			words += line
		}
	}
	return words
}

// Received reads the session's waiting mail, and returns each message as "sender: text".
func (m *Machine) Received() (texts []string) {
	m.t.Helper()
	out, err := m.Cmd(m.Session(), "c2c", "poll-inbox", "--json").Output()
	if err != nil {
		m.t.Fatalf("%s: %v", m.Name, err)
	}
	var answer struct {
		Messages []struct {
			From    string `json:"from_alias"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(out, &answer) != nil || answer.Messages == nil {
		if err := json.Unmarshal(out, &answer.Messages); err != nil {
			m.t.Fatalf("%s: %s", m.Name, out)
		}
	}
	for _, one := range answer.Messages {
		texts = append(texts, one.From+": "+one.Content)
	}
	return texts
}

// Expect waits until the session has received these messages, and fails the test if it receives
// anything else.
func (m *Machine) Expect(want ...string) {
	m.t.Helper()
	var got []string
	m.net.Until(fmt.Sprintf("%s receives %.100q", m.Name, want), func() bool {
		if m.Waits(m.SID) {
			got = append(got, m.Received()...)
		}
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		m.t.Errorf("%s received %q\nwant %q", m.Name, got, want)
	}
}

// Relay returns the process id of the machine's relay, 0 if none runs.
func (m *Machine) Relay() int {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.Home, ".c2c", "daemon", "daemon.lock"))
	if err != nil || m.Cmd(nil, "c2c", "relay", "status").Run() != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		m.t.Fatal(err)
	}
	return pid
}

// KillRelay kills the relay as a crash does, and returns when it has ended.
func (m *Machine) KillRelay() {
	m.t.Helper()
	if pid := m.Relay(); pid != 0 {
		if err := lab.Stop(pid); err != nil {
			m.t.Fatal(err)
		}
	}
}

// KillLinks kills every ssh that the relay has started.
func (m *Machine) KillLinks() {
	m.t.Helper()
	relay := fmt.Sprintf("PPid:\t%d\n", m.Relay())
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range files {
		status, _ := os.ReadFile(file) // an error: the process has ended
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && bytes.HasPrefix(status, []byte("Name:\tssh\n")) && bytes.Contains(status, []byte(relay)) {
			if err := lab.Stop(pid); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// Linked waits until the machine's relay reports that it has a link to a host or, if want is false,
// that it has none.
func (m *Machine) Linked(host string, want bool) {
	m.t.Helper()
	m.net.Until(fmt.Sprintf("%s: link to %s is %v", m.Name, host, want), func() bool { return m.isLinked(host) == want })
}

func (m *Machine) isLinked(host string) bool {
	data, _ := os.ReadFile(filepath.Join(m.Home, ".c2c", "daemon", "running.json"))
	var daemon struct {
		Parts struct {
			Relay struct {
				About []struct {
					Host string
					Up   bool
				}
			}
		}
	}
	json.Unmarshal(data, &daemon)
	for _, l := range daemon.Parts.Relay.About {
		if l.Host == host {
			return l.Up
		}
	}
	return false
}

// Knows adds another machine to the machine's list of paired hosts. The list of the other machine
// does not change.
func (m *Machine) Knows(other *Machine, carrier string) {
	m.t.Helper()
	there, err := atomicfile.Open(filepath.Join(other.Home, ".c2c", relay.HostsDir))
	if err != nil {
		m.t.Fatal(err)
	}
	defer there.Close()
	key, err := relay.ReadKey(there)
	if err != nil {
		m.t.Fatal(err)
	}
	h := relay.Host{Name: other.Name, Carrier: carrier, Projects: []string{relay.AnyName}, Aliases: []string{relay.AnyName}, Key: key.Public()}
	if carrier == relay.SSH {
		h.Dest = other.Name
	}
	own, err := atomicfile.Create(filepath.Join(m.Home, ".c2c", relay.HostsDir))
	if err == nil {
		defer own.Close()
		_, err = relay.LoadKey(context.Background(), own) // as c2c does before it pairs
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.Change(func(l *relay.HostList) error { return l.Add(context.Background(), h) })
}

// Change changes the machine's list of paired hosts, as c2c does.
func (m *Machine) Change(change func(*relay.HostList) error) {
	m.t.Helper()
	dir, err := atomicfile.Create(filepath.Join(m.Home, ".c2c", relay.HostsDir))
	if err != nil {
		m.t.Fatal(err)
	}
	defer dir.Close()
	if err := change(relay.OpenHosts(dir, time.Now)); err != nil {
		m.t.Fatalf("%s: change the list of hosts: %v", m.Name, err)
	}
}
