package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"golang.org/x/sys/unix"

	"c2c/e2e/lab"
	"c2c/e2e/need"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/relay/cache"
)

// Where c2c and c2cd are built before the tests are cut off from the machine.
const binEnv = "C2C_RELAY_BIN"

// TestMain runs the tests as root of namespaces of their own: with loopback alone, and an empty /tmp.
func TestMain(m *testing.M) {
	if os.Geteuid() != 0 || missing() != "" { // each test says what is missing
		os.Exit(m.Run())
	}
	bin := os.Getenv(binEnv)
	if bin == "" {
		var err error
		if bin, err = os.MkdirTemp("", "c2c-relay"); err != nil {
			panic(err)
		}
		if out, err := exec.Command("go", "build", "-o", bin+"/", "c2c/cmd/c2c", "c2c/cmd/c2cd").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build c2c: %v\n%s", err, out)
			os.Exit(1)
		}
		os.Setenv(binEnv, bin)
	}
	status, isolated, err := lab.Isolate(bin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
	}
	if isolated {
		// ip keeps the names of networks in files, which are to be nobody else's.
		for _, dir := range []string{"/run/netns", "/run/sshd"} {
			err = errors.Join(err, os.MkdirAll(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "relay:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	os.RemoveAll(bin)
	os.Exit(status)
}

const sshd = "/usr/sbin/sshd"

func missing() string {
	for _, tool := range []string{"ip", "ssh", "ssh-keygen", "git", sshd} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	return ""
}

// needMachines skips a test where two machines cannot be made.
func needMachines(t *testing.T) {
	t.Helper()
	if tool := missing(); tool != "" {
		need.Skip(t, "install "+tool+" (scripts/setup.sh)")
	}
	if os.Geteuid() != 0 {
		need.Skip(t, "run as root: sshd and two networks need it")
	}
}

// patience is far longer than anything here takes.
const patience = time.Minute

// machine is a home in a network of its own.
type machine struct {
	t          *testing.T
	name, home string
	sid        string // of its only session
	path       string
	cmd        func(env []string, program string, args ...string) *exec.Cmd
}

func (m *machine) run(cmd *exec.Cmd) string {
	m.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %q: %v\n%s", m.name, cmd.Args, err, out)
	}
	return string(out)
}

// c2c runs c2c as the session of the machine.
func (m *machine) c2c(args ...string) string {
	m.t.Helper()
	return m.run(m.cmd(m.session(), "c2c", args...))
}

func (m *machine) session() []string { return []string{"C2C_MCP_SESSION_ID=" + m.sid} }

// typed runs c2c as a person types it, who answers a question.
func (m *machine) typed(answer string, args ...string) (string, error) {
	m.t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		m.t.Fatal(err)
	}
	defer keyboard.Close()
	defer tty.Close()
	fmt.Fprintln(keyboard, answer)
	cmd := m.cmd(nil, "c2c", args...)
	cmd.Stdin, cmd.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// network is two machines and the cable between them.
type network struct {
	t              *testing.T
	laptop, devbox *machine
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// connect makes two machines. The laptop's person has a key of ssh for devbox; nobody has one for the laptop.
func connect(t *testing.T) *network {
	t.Helper()
	needMachines(t)
	lab := t.TempDir()
	n := &network{t: t}
	n.laptop, n.devbox = n.machine(lab, "laptop", "amber"), n.machine(lab, "devbox", "birch")
	run(t, "ip", "link", "add", "wire-a", "netns", "laptop", "type", "veth", "peer", "name", "wire-b", "netns", "devbox")
	for i, end := range [][2]string{{"laptop", "wire-a"}, {"devbox", "wire-b"}} {
		run(t, "ip", "-n", end[0], "addr", "add", fmt.Sprintf("10.9.0.%d/24", i+1), "dev", end[1])
		run(t, "ip", "-n", end[0], "link", "set", end[1], "up")
		run(t, "ip", "-n", end[0], "link", "set", "lo", "up")
	}
	n.serveSSH(lab)
	for _, m := range []*machine{n.laptop, n.devbox} {
		m.run(exec.Command("git", "-C", m.path, "init", "-q"))
		m.run(exec.Command("git", "-C", m.path, "remote", "add", "origin", "https://example.org/x/"+map[bool]string{true: "site", false: "site.git"}[m == n.laptop]))
		m.c2c("register", m.sid)
	}
	return n
}

func (n *network) machine(lab, name, sid string) *machine {
	n.t.Helper()
	run(n.t, "ip", "netns", "add", name)
	n.t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	m := &machine{t: n.t, name: name, sid: sid, home: filepath.Join(lab, name), path: filepath.Join(lab, name, "site")}
	for _, dir := range []string{m.path, filepath.Join(m.home, "bin"), filepath.Join(m.home, ".ssh")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			n.t.Fatal(err)
		}
	}
	m.cmd = func(env []string, program string, args ...string) *exec.Cmd {
		path := m.home + "/bin:" + os.Getenv(binEnv) + ":/usr/bin:/bin"
		cmd := exec.Command("ip", slices.Concat([]string{"netns", "exec", name, "env", "-i", "HOME=" + m.home, "PATH=" + path}, append(env, program), args)...)
		cmd.Dir = m.path
		return cmd
	}
	n.t.Cleanup(func() { m.cmd(nil, "c2c", "relay", "stop").Run() })
	return m
}

// serveSSH starts sshd on devbox, and tells the laptop's ssh where it is. Each is to read nothing of this machine's user.
func (n *network) serveSSH(lab string) {
	n.t.Helper()
	key, host, config := filepath.Join(n.laptop.home, ".ssh", "id"), filepath.Join(lab, "hostkey"), filepath.Join(lab, "sshd_config")
	for _, file := range []string{key, host} {
		run(n.t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
	}
	public := func(file string) string {
		data, err := os.ReadFile(file + ".pub")
		if err != nil {
			n.t.Fatal(err)
		}
		return string(data)
	}
	ssh := filepath.Join(n.laptop.home, "bin", "ssh")
	for file, text := range map[string]string{
		n.authorized(): public(key),
		config: fmt.Sprintf("Port 2222\nListenAddress 10.9.0.2\nHostKey %s\nPidFile none\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"+
			"SetEnv HOME=%s PATH=%s:/usr/bin:/bin\n", host, n.authorized(), n.devbox.home, os.Getenv(binEnv)),
		lab + "/known": "[10.9.0.2]:2222 " + public(host),
		lab + "/ssh_config": fmt.Sprintf("Host devbox\n HostName 10.9.0.2\n Port 2222\n User root\n UserKnownHostsFile %s\n IdentityFile %s\n"+
			" ServerAliveInterval 1\n", lab+"/known", key),
		ssh: fmt.Sprintf("#!/bin/sh\nexec /usr/bin/ssh -F %s \"$@\"\n", lab+"/ssh_config"),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	if err := os.Chmod(ssh, 0o700); err != nil {
		n.t.Fatal(err)
	}
	daemon := exec.Command("ip", "netns", "exec", "devbox", sshd, "-D", "-E", lab+"/sshd.log", "-f", config)
	if err := daemon.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		daemon.Process.Kill()
		daemon.Wait()
		if n.t.Failed() {
			said, _ := os.ReadFile(lab + "/sshd.log")
			n.t.Logf("sshd:\n%s", said)
			for _, m := range []*machine{n.laptop, n.devbox} {
				log, _ := os.ReadFile(filepath.Join(m.home, ".c2c", "relay", "relay.log"))
				n.t.Logf("%s:\n%s", m.name, log)
			}
		}
	})
	n.until("sshd listens", func() bool {
		return strings.Contains(run(n.t, "ip", "netns", "exec", "devbox", "cat", "/proc/net/tcp"), ":08AE")
	})
}

func (n *network) authorized() string { return filepath.Join(n.devbox.home, ".ssh", "authorized_keys") }

// until looks again and again: nothing tells a test of what another machine has done.
func (n *network) until(what string, look func() bool) {
	n.t.Helper()
	for late := time.Now().Add(patience); !look(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			n.t.Fatalf("it does not come: %s", what)
		}
	}
}

// cut takes the cable away, or puts it back.
func (n *network) cut(away bool) {
	n.t.Helper()
	run(n.t, "ip", "-n", "laptop", "link", "set", "wire-a", map[bool]string{true: "down", false: "up"}[away])
}

func (n *network) pair() {
	n.t.Helper()
	out, err := n.laptop.typed("yes", "relay", "add", "devbox", "--as", "devbox", "--name", "laptop")
	if err != nil || !strings.Contains(out, "the link is up") {
		n.t.Fatalf("pair: %v\n%s", err, out)
	}
}

// root is where the mail of the machine is.
func (m *machine) root() *atomicfile.Dir {
	m.t.Helper()
	roots, err := filepath.Glob(filepath.Join(m.home, ".c2c", "repos", "*", "broker"))
	if err != nil || len(roots) != 1 {
		m.t.Fatalf("roots %q, %v", roots, err)
	}
	dir, err := atomicfile.Open(roots[0])
	if err != nil {
		m.t.Fatal(err)
	}
	return dir
}

// put stores a message for a session of another machine, as c2c send does, and tells the relay.
func (m *machine) put(to, id, text string) {
	m.t.Helper()
	dir := m.root()
	defer dir.Close()
	_, host, _ := strings.Cut(to, "@")
	box, err := inbox.Open(dir, "host-"+host, inbox.Config{})
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := box.Deliver(context.Background(), mail.Message{From: m.sid, FromSession: m.sid, To: to, ID: id, Content: text}); err != nil {
		m.t.Fatal(err)
	}
}

// waits says whether mail for a machine is still here.
func (m *machine) waits(host string) bool {
	boxes, _ := filepath.Glob(filepath.Join(m.home, ".c2c", "repos", "*", "broker", "host-"+host+".inbox.json"))
	older, _ := filepath.Glob(filepath.Join(m.home, ".c2c", "repos", "*", "broker", "host-"+host+".lease", "*"))
	return len(boxes)+len(older) > 0
}

// received gives what the session was sent, and takes it.
func (m *machine) received() (texts []string) {
	m.t.Helper()
	cmd := m.cmd(m.session(), "c2c", "poll-inbox", "--json")
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("%s: %v", m.name, err)
	}
	var answer struct {
		Messages []struct {
			From    string `json:"from_alias"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(out, &answer) != nil || answer.Messages == nil {
		if err := json.Unmarshal(out, &answer.Messages); err != nil {
			m.t.Fatalf("%s: %s", m.name, out)
		}
	}
	for _, one := range answer.Messages {
		texts = append(texts, one.From+": "+one.Content)
	}
	return texts
}

func (n *network) expect(m *machine, want ...string) {
	n.t.Helper()
	var got []string
	n.until(fmt.Sprintf("%s receives %.100q", m.name, want), func() bool {
		got = append(got, m.received()...)
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		n.t.Errorf("%s received %q\nwant %q", m.name, got, want)
	}
}

// pid is the relay of a machine.
func (m *machine) pid() int {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.home, ".c2c", "relay", "relay.pid"))
	if err != nil {
		m.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		m.t.Fatal(err)
	}
	return pid
}

func TestTwoMachinesArePairedByOneCommandAndExchangeMail(t *testing.T) {
	n := connect(t)
	before, _ := os.ReadFile(n.authorized())
	for _, c := range []struct{ answer, more string }{{"no", "--json"}, {"", "--dry-run"}} {
		out, err := n.laptop.typed(c.answer, "relay", "add", "devbox", "--as", "devbox", c.more)
		if (err == nil) != (c.more == "--dry-run") || !strings.Contains(out, `restrict,command="`+os.Getenv(binEnv)+`/c2cd relay --stdio" ssh-ed25519 `) {
			t.Errorf("%s: %v\n%s", c.more, err, out)
		}
	}
	if now, _ := os.ReadFile(n.authorized()); string(now) != string(before) || !strings.Contains(n.laptop.c2c("relay", "list"), "no other machine") {
		t.Errorf("without a yes authorized_keys is\n%s", now)
	}
	n.pair()
	n.laptop.c2c("send", "--id", "m-1", "birch@devbox", "Is the build green?")
	n.expect(n.devbox, "amber@laptop: Is the build green?")
	n.devbox.c2c("reply", "m-1", "It is.")
	n.expect(n.laptop, "birch@devbox: It is.")
	n.until("the receipts come", func() bool { return !n.laptop.waits("devbox") && !n.devbox.waits("laptop") })
	n.until("the laptop hears that its message was read", func() bool {
		dir := n.laptop.root()
		defer dir.Close()
		states, err := cache.StatesOf(dir, "devbox", "m-1")
		host, herr := cache.Get(dir, "devbox")
		return err == nil && herr == nil && len(states) > 0 && states[len(states)-1].What == "read" && host.Linked &&
			slices.ContainsFunc(host.Sessions, func(s cache.Session) bool { return s.Alias == "birch" })
	})
	n.until("devbox shows that its answer was read", func() bool { return strings.Contains(n.devbox.c2c("outbox"), "  read ") })
	for _, m := range []*machine{n.laptop, n.devbox} {
		if out := m.c2c("relay", "status"); !strings.Contains(out, "linked for") {
			t.Errorf("%s: %s", m.name, out)
		}
	}
	// The key of the relay opens nothing else there.
	said, err := n.laptop.cmd(nil, "ssh", "-i", n.laptop.home+"/.c2c/relay/ssh_key", "-o", "IdentitiesOnly=yes", "-o", "IdentityFile=none", "-o", "BatchMode=yes", "devbox", "cat", n.authorized()).CombinedOutput()
	if bytes.Contains(said, []byte("ssh-ed25519 ")) {
		t.Errorf("it runs another command: %v\n%s", err, said)
	}
}

func TestAnUnknownAliasIsRefusedAndTheOthersArrive(t *testing.T) {
	n := connect(t)
	n.pair()
	n.laptop.put("birch@devbox", "m-1", "one")
	n.laptop.put("nobody@devbox", "m-2", "two")
	n.laptop.put("birch@devbox", "m-3", "three")
	n.laptop.c2c("relay", "want")
	n.expect(n.devbox, "amber@laptop: one", "amber@laptop: three")
	n.expect(n.laptop, `c2c-system: "two" (m-2) was not stored there: no session there has this alias. It is not sent again.`)
}

func TestAProjectThatIsNotThereIsRefusedUntilItIs(t *testing.T) {
	n := connect(t)
	n.pair()
	run(t, "git", "-C", n.laptop.path, "remote", "set-url", "origin", "https://example.org/x/shop")
	if err := os.RemoveAll(filepath.Join(n.laptop.home, ".c2c", "repos")); err != nil {
		t.Fatal(err)
	}
	n.laptop.c2c("register", "amber")
	n.laptop.put("birch@devbox", "m-1", "one")
	n.laptop.c2c("relay", "want")
	n.expect(n.laptop, `c2c-system: "one" (m-1) was not stored there: nobody has used c2c in this project there yet, or it has another remote there. It is not sent again.`)
	run(t, "git", "-C", n.devbox.path, "remote", "set-url", "origin", "https://example.org/x/shop")
	n.devbox.c2c("register", "birch")
	n.laptop.put("birch@devbox", "m-2", "two")
	n.laptop.c2c("relay", "want")
	n.expect(n.devbox, "amber@laptop: two")
	if h, err := cache.Get(n.laptop.root(), "devbox"); err != nil || h.Trouble != "" {
		t.Errorf("trouble %q, %v", h.Trouble, err)
	}
}

func TestMailWaitsWhileTheCableIsOutAndNothingComesTwice(t *testing.T) {
	n := connect(t)
	n.pair()
	n.laptop.put("birch@devbox", "m-0", "0")
	n.laptop.c2c("relay", "want")
	n.expect(n.devbox, "amber@laptop: 0")
	n.cut(true)
	var want, back []string
	for i := range 30 {
		n.laptop.put("birch@devbox", fmt.Sprint("there-", i), fmt.Sprint(i))
		n.devbox.put("amber@laptop", fmt.Sprint("back-", i), fmt.Sprint(i))
		want, back = append(want, fmt.Sprintf("amber@laptop: %d", i)), append(back, fmt.Sprintf("birch@devbox: %d", i))
	}
	n.laptop.c2c("relay", "want")
	n.devbox.c2c("relay", "want")
	n.cut(false)
	n.expect(n.devbox, want...)
	n.expect(n.laptop, back...)
}

func TestARelayThatIsKilledLosesAndRepeatsNothing(t *testing.T) {
	n := connect(t)
	n.pair()
	var want []string
	for i := range 40 {
		n.laptop.put("birch@devbox", fmt.Sprint("m-", i), fmt.Sprint(i))
		want = append(want, fmt.Sprintf("amber@laptop: %d", i))
		if i%10 == 5 {
			m := []*machine{n.laptop, n.devbox}[i/10%2]
			n.until("it runs", func() bool { return m.cmd(nil, "c2c", "relay", "status").Run() == nil })
			if err := syscall.Kill(m.pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			n.until("it has ended", func() bool { return m.cmd(nil, "c2c", "relay", "status").Run() != nil })
		}
		n.laptop.c2c("relay", "want") // what every send does: the relay is started again
	}
	n.expect(n.devbox, want...)
	n.until("the receipts come", func() bool { return !n.laptop.waits("devbox") })
}

func TestMailWaitsForARelayThatWasStopped(t *testing.T) {
	n := connect(t)
	n.pair()
	n.laptop.c2c("relay", "stop")
	out := n.laptop.c2c("send", "birch@devbox", "one")
	if !strings.HasSuffix(out, "; the relay was stopped, so it waits until c2c relay start\n") || !strings.HasPrefix(out, "queued for birch@devbox as ") {
		t.Errorf("send says %q", out)
	}
	n.laptop.c2c("relay", "start")
	n.expect(n.devbox, "amber@laptop: one")
}

func TestARevokedMachineIsCutOffAtOnce(t *testing.T) {
	n := connect(t)
	n.pair()
	if out, err := n.devbox.typed("", "relay", "revoke", "laptop"); err != nil || !strings.Contains(out, "authorized_keys") {
		t.Fatalf("%v\n%s", err, out)
	}
	if keys, _ := os.ReadFile(n.authorized()); strings.Contains(string(keys), "c2c-relay") {
		t.Errorf("its key of ssh is still there:\n%s", keys)
	}
	n.until("the laptop has no link", func() bool { return strings.Contains(n.laptop.c2c("relay", "status"), "not linked") })
	n.laptop.put("birch@devbox", "m-1", "one")
	n.laptop.c2c("relay", "want")
	if got := n.devbox.received(); len(got) > 0 {
		t.Errorf("received %q", got)
	}
	if out, err := n.laptop.typed("yes", "relay", "add", "devbox", "--as", "devbox", "--name", "laptop"); err == nil || !strings.Contains(out, "revoked") {
		t.Errorf("paired again: %v\n%s", err, out)
	}
}
