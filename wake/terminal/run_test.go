package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// The test binary is also the wrapper that a person runs: with C2C_TEST_PTY it
// runs the rest of its arguments in a terminal of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == LeadVerb {
		status, err := Lead(os.Args[2:])
		if err != nil {
			status = 1
		}
		os.Exit(status)
	}
	switch os.Getenv("C2C_TEST_PTY") {
	case "":
		os.Exit(m.Run())
	case "client":
		prompt()
		os.Exit(0)
	}
	t, err := Start(Config{Leader: os.Args[0], Argv: os.Args[1:], Env: os.Environ(), In: os.Stdin, Out: os.Stdout, Client: "claude"})
	status := 99
	if err == nil {
		status, err = t.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// tooLong is when a test gives up: what it waits for is ended.
const tooLong = time.Minute

// person is somebody at a terminal with the wrapper in it.
type person struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	seen []byte
}

func sit(t *testing.T, script string) *person {
	t.Helper()
	return sitAt(t, os.Args[0], "/bin/sh", "-c", script)
}

func sitAt(t *testing.T, argv ...string) *person {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "C2C_TEST_PTY=1")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 20, Cols: 77})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, cmd: cmd, tty: tty}
	end := time.AfterFunc(tooLong, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		end.Stop()
		cmd.Process.Kill()
		tty.Close()
	})
	return p
}

// see reads until text has been drawn, and returns what came before it.
func (p *person) see(text string) (before string) {
	p.t.Helper()
	buf := make([]byte, 4096)
	for !bytes.Contains(p.seen, []byte(text)) {
		n, err := p.tty.Read(buf)
		p.seen = append(p.seen, buf[:n]...)
		if err != nil {
			p.t.Fatalf("%v before %q was drawn, only %q", err, text, p.seen)
		}
	}
	i := bytes.Index(p.seen, []byte(text))
	before, p.seen = string(p.seen[:i]), p.seen[i+len(text):]
	return before
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.tty, keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) exit() int {
	p.t.Helper()
	io.Copy(io.Discard, p.tty)
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func TestKeysSizeAndExitStatusAreTheClients(t *testing.T) {
	p := sit(t, `stty size; read x; echo "got $x"; read y; stty size; exit 7`)
	p.see("20 77")
	p.types("hello\r")
	p.see("got hello")
	if err := pty.Setsize(p.tty, &pty.Winsize{Rows: 31, Cols: 99}); err != nil {
		t.Fatal(err)
	}
	// The resize comes as a signal, the key as a byte: ask until the first is through.
	p.types("\r")
	if code := p.exit(); code != 7 {
		t.Errorf("exit status %d, want 7", code)
	}
}

func TestAResizeReachesTheClient(t *testing.T) {
	p := sit(t, `echo ready; while read x; do echo "=$(stty size)="; done`)
	p.see("ready")
	if err := pty.Setsize(p.tty, &pty.Winsize{Rows: 31, Cols: 99}); err != nil {
		t.Fatal(err)
	}
	for size := ""; size != "31 99"; { // it comes as a signal, which may be behind a key
		p.types("\r")
		p.see("=")
		size = p.see("=")
	}
}

func TestASignalReachesTheClientAndItsStatusIsTold(t *testing.T) {
	p := sit(t, `echo ready; exec cat`)
	p.see("ready")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(); code != 143 {
		t.Errorf("exit status %d, want 143", code)
	}
}

func TestCtrlCIsAKeyOfTheClients(t *testing.T) {
	p := sit(t, `echo ready; exec cat`)
	p.see("ready")
	p.types("\x03")
	if code := p.exit(); code != 130 {
		t.Errorf("exit status %d, want 130", code)
	}
}

// suspends is a client that reads Ctrl-Z as a key, restores the screen and stops itself.
const suspends = `echo ready; read x; kill -TSTP $$; read x; echo "got $x"`

func TestAClientThatStopsItselfGivesTheShellItsTerminal(t *testing.T) {
	p := sitAt(t, "/bin/sh", "-mc", `"$0" /bin/sh -c "$1"; stty -a; echo "shell has it"; read x; fg`, os.Args[0], suspends)
	p.see("ready")
	p.types("\r")
	if mode := p.see("shell has it"); !strings.Contains(mode, " icanon") {
		t.Errorf("the person's terminal was still raw: %s", mode)
	}
	p.types("\r")
	p.see("sh -c") // what fg continues
	p.types("again\r")
	p.see("got again")
	if code := p.exit(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// For example in a window of tmux that was opened for c2c start alone.
func TestAClientThatStopsItselfWithoutAShellGoesOn(t *testing.T) {
	p := sit(t, suspends)
	p.see("ready")
	p.types("\r")
	p.types("again\r")
	p.see("got again")
}

func TestMuchOutputComesWhole(t *testing.T) {
	p := sit(t, `stty -opost; head -c 3000000 /dev/zero | tr '\0' x; echo; echo end`)
	all, _ := io.ReadAll(p.tty)
	if n := strings.Count(string(all), "x"); n != 3_000_000 || !bytes.Contains(all, []byte("end")) {
		t.Errorf("%d bytes came", n)
	}
}

// The person's terminal may be stuck, or its window gone. Then the rest of the picture is not
// waited for.
func TestATerminalThatTakesNothingDoesNotHoldUs(t *testing.T) {
	person, in, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	defer in.Close()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer r.Close()
	if err := out.SetWriteDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = out.Write(make([]byte, 4096))
	}
	out.SetWriteDeadline(time.Time{})
	term, err := Start(Config{Leader: os.Args[0], Argv: []string{"/bin/sh", "-c", "echo hello; exit 5"}, Env: os.Environ(), In: in, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(tooLong, func() { r.Close() }).Stop()
	if status, err := term.Run(); err != nil || status != 5 {
		t.Errorf("%d, %v", status, err)
	}
}

// Something that the client leaves in the background must not hold the person's shell.
func TestABackgroundProcessDoesNotHoldTheTerminal(t *testing.T) {
	p := sit(t, `trap '' HUP; sleep 30 & echo "left $!"; exit 0`)
	p.see("left ")
	if code := p.exit(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	person, in, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	defer in.Close()
	if _, err := Start(Config{Leader: os.Args[0], Argv: []string{"/nowhere/client"}, Env: os.Environ(), In: in, Out: in}); err == nil || !strings.Contains(err.Error(), "/nowhere/client: no such file") {
		t.Errorf("%v", err)
	}
}
