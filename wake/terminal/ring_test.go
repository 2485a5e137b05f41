package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"c2c/wake"
)

// prompt is a client: it draws a prompt as Claude Code does, and says in a pipe what was entered.
// What is pasted stays a draft until Enter. Keys: d opens a dialog, b starts a turn, g goes deaf
// for pastes, x opens a dialog as soon as something is pasted, s hands the terminal to a shell.
func prompt() {
	state, err := term.MakeRaw(0)
	if err != nil {
		panic(err)
	}
	defer term.Restore(0, state)
	entered, err := os.OpenFile(os.Getenv("C2C_TEST_ENTERED"), os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	const width = 70
	rule := strings.Repeat("─", 77)
	draft, below, deaf, trap := "", "  ⏸ manual mode on · ? for shortcuts", false, false
	fmt.Print("\x1b[?2004h")
	draw := func() {
		shown := draft
		for i := width; i < len(shown); i += width + len("\r\n  ") {
			shown = shown[:i] + "\r\n  " + shown[i:]
		}
		fmt.Printf("\x1b[2J\x1b[H%s\r\n❯ %s\r\n%s\r\n%s\x1b[2;%dH", rule, shown, rule, below, 3+len(draft))
	}
	dialog := func() { below = "Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No"; draw() }
	draw()
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return
		}
		for keys := string(buf[:n]); keys != ""; {
			if text, rest, ok := strings.Cut(strings.TrimPrefix(keys, "\x1b[200~"), "\x1b[201~"); ok && strings.HasPrefix(keys, "\x1b[200~") {
				if keys = rest; !deaf {
					draft += text
				}
				if trap {
					dialog()
				}
				draw()
				continue
			}
			key := keys[:1]
			keys = keys[1:]
			switch key {
			case "\r":
				fmt.Fprintf(entered, "entered %q\n", draft)
				draft = ""
			case "d":
				dialog()
			case "b":
				below = "  ⏸ manual mode on · esc to interrupt"
			case "g":
				deaf = true
			case "x":
				trap = true
			case "s":
				term.Restore(0, state)
			default:
				draft += key
			}
			draw()
		}
	}
}

// desk is a person at a terminal with a client in it, and somebody who rings.
type desk struct {
	*person
	term    *Terminal
	over    chan struct{} // closed when the client has ended
	entered *bufio.Scanner
}

// hasty is for a test whose client does not answer, calm for one whose client does, even on a busy
// machine.
var (
	hasty = limits{answer: time.Second}
	calm  = limits{answer: tooLong / 2}
)

// sitAtDesk starts a client, which Ring gives these times.
func sitAtDesk(t *testing.T, limits limits) *desk {
	t.Helper()
	tty, client, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 30, Cols: 77}); err != nil {
		t.Fatal(err)
	}
	if tty, err = pollable(tty); err != nil { // so that its end ends a read
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "entered")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	entered, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends, so that nobody waits to open it
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{person: &person{t: t, tty: tty}, over: make(chan struct{}), entered: bufio.NewScanner(entered)}
	d.term, err = Start(Config{Leader: os.Args[0], Argv: []string{os.Args[0]}, Env: append(os.Environ(), "C2C_TEST_PTY=client", "C2C_TEST_ENTERED="+fifo),
		In: client, Out: client, Client: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	d.term.limits = limits
	go func() {
		defer close(d.over)
		d.term.Run()
	}()
	end := time.AfterFunc(tooLong, func() {
		tty.Close()
		entered.Close()
	})
	t.Cleanup(func() {
		end.Stop()
		d.term.Abandon()
		tty.Close()
		<-d.over
		client.Close()
		entered.Close()
	})
	d.see("manual mode on")
	d.see("\x1b[2;3H")
	return d
}

// ring wants an outcome.
func (d *desk) ring(want error) {
	d.t.Helper()
	err := d.term.Ring(d.t.Context(), wake.Notice{Count: 1, From: []string{"birch"}, Oldest: "m-1"})
	if !errors.Is(err, want) || want == wake.ErrUncaptured && errors.Is(err, wake.ErrHeld) {
		d.t.Errorf("%v, want %v", err, want)
	}
}

// enters is the next thing that the client took.
func (d *desk) enters(want string) {
	d.t.Helper()
	if d.entered.Scan(); d.entered.Text() != "entered "+fmt.Sprintf("%q", want) {
		d.t.Errorf("client took %s, want %q", d.entered.Text(), want)
	}
}

// press types keys and waits until the client has drawn what they make of it.
func (d *desk) press(keys, then string) {
	d.t.Helper()
	d.types(keys)
	d.see(then)
	d.see("H") // the cursor follows the picture
}

// Under nohup a program ignores SIGHUP, and so do those that it starts.
func TestTheClientEndsWithItsTerminalUnderNohup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	d := sitAtDesk(t, hasty)
	d.term.Abandon()
	select {
	case <-d.over:
	case <-time.After(tooLong):
		t.Error("it lives on")
		unix.Kill(-d.term.PID(), unix.SIGKILL)
	}
}

const notice = `<c2c event="message_pending" count="1" from="birch">call the c2c tool poll_inbox</c2c>`

// inTheWay is what keeps a line from being typed.
var inTheWay = map[string]func(d *desk){
	"a draft":  func(d *desk) { d.press("my", "❯ my") },
	"a dialog": func(d *desk) { d.press("d", "2. No") },
	"a turn":   func(d *desk) { d.press("b", "esc to interrupt") },
}

func TestNothingIsTypedOverAPersonOrIntoWhatIsNoPrompt(t *testing.T) {
	for name, open := range inTheWay {
		t.Run(name, func(t *testing.T) {
			d := sitAtDesk(t, hasty)
			open(d)
			d.ring(wake.ErrHeld)
			d.types("\r")
			d.entered.Scan()
			if strings.Contains(d.entered.Text(), "c2c") {
				t.Errorf("client took %s", d.entered.Text())
			}
		})
	}
}

func TestALineThatTheTerminalReadsIsNoPrompt(t *testing.T) {
	d := sitAtDesk(t, hasty)
	d.press("s", "❯ ")
	d.ring(wake.ErrHeld)
}

// A hook may hand the message over while a ring waits until the client is still.
func TestARingForAMessageThatIsGoneIsNotTyped(t *testing.T) {
	d := sitAtDesk(t, calm)
	gone := wake.Notice{Count: 1, From: []string{"birch"}, Oldest: "m-0", Waits: func() bool { return false }}
	if err := d.term.Ring(t.Context(), gone); !errors.Is(err, wake.ErrRead) {
		t.Errorf("%v, want %v", err, wake.ErrRead)
	}
	d.ring(nil)
	d.enters(notice) // only once: a line of the first ring would have been entered before
}

func TestAPersonWhoTypesIsNotDisturbed(t *testing.T) {
	d := sitAtDesk(t, limits{answer: time.Second, person: time.Hour})
	d.press("a", "❯ a")
	d.press("\r", "❯ ")
	d.enters("a")
	d.ring(wake.ErrHeld)
}

// A ring that is held comes two seconds later.
func TestARingWaitsForAClientThatDraws(t *testing.T) {
	const still = 50 * time.Millisecond
	for settle, want := range map[time.Duration]error{tooLong / 2: nil, 0: wake.ErrHeld} {
		d := sitAtDesk(t, limits{answer: tooLong / 2, still: still, settle: settle})
		d.press("a", "❯ a")
		d.press("\r", "❯ ")
		d.enters("a")
		d.term.mu.Lock()
		d.term.drawn = time.Now().Add(still) // it goes on for a moment
		d.term.mu.Unlock()
		d.ring(want)
	}
}

// Enter would answer it.
func TestADialogThatOpensOverThePasteIsNotAnswered(t *testing.T) {
	d := sitAtDesk(t, hasty)
	d.press("x", "❯ ")
	d.ring(wake.ErrUncaptured)
	d.types("\r")
	d.enters(notice) // the person's Enter, and the first
}

// It was pasted, and a turn or a dialog came before Enter.
func TestALineThatStaysInThePromptIsSentWithoutAnotherPaste(t *testing.T) {
	d := sitAtDesk(t, calm)
	d.press("\x1b[200~"+notice+"\x1b[201~", "inbox</c2c>")
	d.ring(nil)
	d.enters(notice)
}

func TestAPasteThatIsIgnoredIsToldAndNotRepeated(t *testing.T) {
	d := sitAtDesk(t, hasty)
	d.press("g", "❯ ")
	d.ring(wake.ErrUncaptured)
	d.types("\r")
	d.enters("")
}
