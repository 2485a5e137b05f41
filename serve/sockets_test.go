package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"c2c/broker"
	"c2c/internal/proc"
)

func TestMain(m *testing.M) {
	if address := os.Getenv("C2C_TEST_DIAL"); address != "" {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(conn, "here")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func ends(c net.Conn) (local, remote netip.AddrPort) {
	return c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
}

// connection opens one, and gives both ends.
func connection(t *testing.T, listen, dial string) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skipf("%s: %v", listen, err) // no IPv6
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	near, err = net.Dial("tcp", net.JoinHostPort(dial, port))
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func TestAConnectionBelongsToItsProcess(t *testing.T) {
	for _, c := range [][2]string{{"127.0.0.1:0", "127.0.0.1"}, {"[::1]:0", "::1"}, {":0", "127.0.0.1"}} {
		near, far := connection(t, c[0], c[1])
		for _, end := range []net.Conn{near, far} {
			if pid := connOwner(ends(end)); pid != os.Getpid() {
				t.Errorf("%s: process %d", c, pid)
			}
			if uid, ok, closed := connUser(ends(end)); uid != os.Geteuid() || !ok || closed {
				t.Errorf("%s: user %d, %v, closed %v", c, uid, ok, closed)
			}
		}
		remote, local := ends(near)
		if remote == local {
			t.Error("one address for both")
		}
		near.Close()
		if pid := connOwner(remote, local); pid != 0 {
			t.Errorf("%s: closed, and still of process %d", c, pid)
		}
		if uid, ok, closed := connUser(remote, local); ok || closed != proc.AllSockets {
			t.Errorf("%s: closed, and of user %d, %v, closed %v", c, uid, ok, closed)
		}
	}
}

func TestAConnectionOfAnotherProcessIsItsOwn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "C2C_TEST_DIAL="+l.Addr().String())
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() { cmd.Wait(); l.Close(); close(ended) }() // without it Accept would wait for ever
	defer func() { in.Close(); <-ended }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	local, remote := ends(conn)
	if pid := connOwner(remote, local); pid != cmd.Process.Pid {
		t.Errorf("process %d, want %d", pid, cmd.Process.Pid)
	}
	if pid := connOwner(local, remote); pid != os.Getpid() {
		t.Errorf("our end: process %d", pid)
	}
}

// The lines are of a machine of the usual order of bytes. A client that starts a program has it
// hold all its connections for a moment, and must not be taken for that.
func TestAConnectionThatAChildHasInheritedIsItsParents(t *testing.T) {
	near, _ := connection(t, "127.0.0.1:0", "127.0.0.1")
	f, err := near.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	socket, err := os.Readlink(fmt.Sprint("/proc/self/fd/", f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "1000")
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { child.Process.Kill(); child.Wait() }()
	if !holds(child.Process.Pid, socket) {
		t.Error("the child does not have the connection")
	}
	if pid, ok := eldest(child.Process.Pid, socket); pid != os.Getpid() || !ok {
		t.Errorf("the connection of the child is that of process %d, %v", pid, ok)
	}
	if pid := connOwner(ends(near)); pid != os.Getpid() {
		t.Errorf("the connection is that of process %d", pid)
	}
	if pid, ok := eldest(os.Getpid(), socket); pid != os.Getpid() || !ok {
		t.Errorf("our own is that of process %d, %v", pid, ok)
	}
}

func TestTheTableIsReadByItsFields(t *testing.T) {
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2254 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0 0 10 0
   1: 0100007F:D431 0100007F:2254 01 00000000:00000000 02:00000000 00000000  1001        0 222 2 0 20 4 30 10 -1
   2: 0100007F:2254 0100007F:D431 01 00000000:00000000 02:00000000 00000000  1000        0 333 2 0 20 4 30 10 -1
   3: 0100007F:D432 0100007F:2254 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
   4: 0000000000000000FFFF00000100007F:D433 0000000000000000FFFF00000100007F:2254 01 00000000:00000000 02:00000000 00000000  1002        0 444 2 0
   5: 00000000000000000000000001000000:D434 00000000000000000000000001000000:2254 01 00000000:00000000 02:00000000 00000000  1003        0 555 2 0
   6: 010000:D435 0100007F:2254 01
`
	if parseEnd("0100007F:2254") != netip.MustParseAddrPort("127.0.0.1:8788") {
		t.Skip("another order of bytes")
	}
	us := netip.MustParseAddrPort("127.0.0.1:8788")
	for from, want := range map[string]struct {
		inode string
		uid   int
	}{
		"127.0.0.1:54321":          {"222", 1001},
		"127.0.0.1:54322":          {proc.NoInode, 0},
		"127.0.0.1:54323":          {"444", 1002},
		"[::ffff:127.0.0.1]:54321": {"222", 1001},
		"127.0.0.1:54325":          {"", 0},
		"127.0.0.2:54321":          {"", 0},
	} {
		s, ok := findIn(proc.TCPIn(strings.NewReader(table), int(netip.MustParseAddrPort(from).Port())), unmap(netip.MustParseAddrPort(from)), us)
		if s.Inode != want.inode || s.UID != want.uid || ok != (want.inode != "") {
			t.Errorf("%s: socket %+v, %v", from, s, ok)
		}
	}
	six := netip.MustParseAddrPort("[::1]:54324")
	if s, _ := findIn(proc.TCPIn(strings.NewReader(table), int(six.Port())), six, netip.MustParseAddrPort("[::1]:8788")); s.Inode != "555" {
		t.Errorf("%v: socket %+v", six, s)
	}
}

// The client is this test.
func TestWithoutAHeaderTheClientsOwnDirectoryCounts(t *testing.T) {
	requests, looked := make(chan *http.Request), make(chan bool)
	f := newFace(t, Limits{}, Route{Pattern: "/", Who: []Kind{Anyone}, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests <- r
		<-looked
	})})
	chosen := func(request string) string {
		var asks sync.WaitGroup
		defer asks.Wait()
		asks.Go(func() { f.ask(request + "\n") })
		root, by, err := f.s.RootFor(<-requests)
		looked <- true
		return fmt.Sprint(by, " ", root, " ", err)
	}
	projectDir := newProject(t, f.home)
	named, err := broker.RootHere(f.s.cfg.Getenv, projectDir)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := broker.RootHere(f.s.cfg.Getenv, f.home)
	if err != nil {
		t.Fatal(err)
	}
	const request = "GET / HTTP/1.1\nHost: localhost:{port}\n"
	t.Chdir(projectDir)
	if got, want := chosen(request), "process "+named+" <nil>"; got != want {
		t.Errorf("in a project: %s, want %s", got, want)
	}
	if got, want := chosen(request+ProjectHeader+": "+f.home+"\n"), "header "+usual+" <nil>"; got != want {
		t.Errorf("with a header: %s, want %s", got, want)
	}
	t.Chdir(t.TempDir()) // in no repository: clients with windows run anywhere
	if got, want := chosen(request), "directory "+usual+" <nil>"; got != want {
		t.Errorf("elsewhere: %s, want %s", got, want)
	}
}
