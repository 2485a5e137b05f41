package pty

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"c2c/wake"
)

// ringer is the wrapper's: it rings for each line on descriptor 3 and tells the outcome on descriptor 4.
func (t *Terminal) ringer() {
	t.limits = limits{answer: time.Second} // the test has its own gates
	if os.Getenv("C2C_TEST_PERSON") != "" {
		t.limits.person = time.Hour
	}
	requests, answers := bufio.NewScanner(os.NewFile(3, "requests")), os.NewFile(4, "answers")
	for requests.Scan() {
		err := t.Ring(context.Background(), wake.Notice{Count: 1, From: []string{requests.Text()}, Oldest: "m-1"})
		outcome := "rang"
		switch {
		case errors.Is(err, wake.ErrHeld):
			outcome = "held"
		case errors.Is(err, wake.ErrUncaptured):
			outcome = "uncaptured"
		}
		fmt.Fprintf(answers, "%s %v\n", outcome, err)
	}
}

// prompt is a client: it draws a prompt as Claude Code does, and says in a pipe what was entered.
// What is pasted stays a draft until Enter. Keys: d opens a dialog, b starts a turn, g goes deaf for pastes,
// x opens a dialog as soon as something is pasted, s hands the terminal to a shell.
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
	rings   io.Writer
	answers *bufio.Scanner
	entered *bufio.Scanner
}

func sitAtDesk(t *testing.T, env ...string) *desk {
	t.Helper()
	cmd := exec.Command(os.Args[0], "/usr/bin/env", "C2C_TEST_PTY=client", os.Args[0])
	cmd.Env = append(append(os.Environ(), "C2C_TEST_PTY=ring"), env...)
	d := &desk{}
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	requests, rings := pipe()
	answers, answer := pipe()
	fifo := filepath.Join(t.TempDir(), "entered")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "C2C_TEST_ENTERED="+fifo)
	entered, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends, so that nobody waits to open it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { entered.Close() })
	cmd.ExtraFiles = []*os.File{requests, answer}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 20, Cols: 77})
	if err != nil {
		t.Fatal(err)
	}
	d.person = &person{t: t, cmd: cmd, tty: tty}
	d.rings, d.answers, d.entered = rings, bufio.NewScanner(answers), bufio.NewScanner(entered)
	t.Cleanup(func() { cmd.Process.Kill(); tty.Close() })
	d.see("manual mode on")
	d.see("\x1b[2;3H")
	return d
}

// ring asks for a ring and wants an outcome.
func (d *desk) ring(want string) {
	d.t.Helper()
	fmt.Fprintln(d.rings, "birch")
	if d.answers.Scan(); !strings.HasPrefix(d.answers.Text(), want+" ") {
		d.t.Errorf("outcome %q, want %s", d.answers.Text(), want)
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

const notice = `<c2c event="message_pending" count="1" from="birch">poll mcp__c2c__poll_inbox</c2c>`

func TestAnEmptyPromptIsTypedInto(t *testing.T) {
	d := sitAtDesk(t)
	d.ring("rang")
	d.enters(notice)
	d.ring("rang")
	d.enters(notice)
}

func TestNothingIsTypedOverAPersonOrIntoWhatIsNoPrompt(t *testing.T) {
	for name, open := range map[string]func(d *desk){
		"a draft":  func(d *desk) { d.press("my", "❯ my") },
		"a dialog": func(d *desk) { d.press("d", "2. No") },
		"a turn":   func(d *desk) { d.press("b", "esc to interrupt") },
	} {
		t.Run(name, func(t *testing.T) {
			d := sitAtDesk(t)
			open(d)
			d.ring("held")
			d.types("\r")
			d.entered.Scan()
			if strings.Contains(d.entered.Text(), "c2c") {
				t.Errorf("client took %s", d.entered.Text())
			}
		})
	}
}

func TestALineThatTheTerminalReadsIsNoPrompt(t *testing.T) {
	d := sitAtDesk(t)
	d.press("s", "❯ ")
	d.ring("held")
}

func TestAPersonWhoTypesIsNotDisturbed(t *testing.T) {
	d := sitAtDesk(t, "C2C_TEST_PERSON=1")
	d.press("a", "❯ a")
	d.press("\r", "❯ ")
	d.enters("a")
	d.ring("held")
}

// Enter would answer it.
func TestADialogThatOpensOverThePasteIsNotAnswered(t *testing.T) {
	d := sitAtDesk(t)
	d.press("x", "❯ ")
	d.ring("uncaptured")
	d.types("\r")
	d.enters(notice) // the person's Enter, and the first
}

func TestAPasteThatIsIgnoredIsToldAndNotRepeated(t *testing.T) {
	d := sitAtDesk(t)
	d.press("g", "❯ ")
	d.ring("uncaptured")
	d.types("\r")
	d.enters("")
}
