package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"c2c/wake/terminal"
)

// robot is somebody at a terminal in which c2c watch runs.
type robot struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	done chan error

	mu      sync.Mutex
	screen  *terminal.Screen
	raw     []byte
	changed chan struct{} // closed and replaced at every write
}

// robotPatience is far more than anything takes.
const robotPatience = 90 * time.Second

func (k *keeper) watch(rows, cols int, env ...string) *robot {
	k.t.Helper()
	cmd := k.command("watch")
	cmd.Env = append(cmd.Env, append([]string{"TERM=xterm-256color", "USER=dana", "LANG=C.UTF-8"}, env...)...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)})
	if err != nil {
		k.t.Fatal(err)
	}
	r := &robot{t: k.t, cmd: cmd, tty: tty, done: make(chan error, 1), screen: terminal.NewScreen(rows, cols), changed: make(chan struct{})}
	read := make(chan bool)
	go func() {
		defer close(read)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			r.mu.Lock()
			r.raw = append(r.raw, buf[:n]...)
			r.screen.Write(buf[:n])
			close(r.changed)
			r.changed = make(chan struct{})
			r.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		err := cmd.Wait()
		<-read
		r.done <- err
	}()
	k.t.Cleanup(func() {
		cmd.Process.Kill()
		tty.Close()
		if k.t.Failed() {
			k.t.Logf("the last screen:\n%s", r.text())
		}
	})
	return r
}

func (r *robot) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.screen.String()
}

// until waits until the screen is as wanted.
func (r *robot) until(what string, ok func(text string) bool) {
	r.t.Helper()
	limit := time.After(robotPatience)
	for {
		r.mu.Lock()
		text, changed := r.screen.String(), r.changed
		r.mu.Unlock()
		if ok(text) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			r.t.Fatalf("%s:\n%s", what, text)
		}
	}
}

func (r *robot) shows(texts ...string) {
	r.t.Helper()
	for _, want := range texts {
		r.until(fmt.Sprintf("the screen does not show %q", want), func(text string) bool { return strings.Contains(text, want) })
	}
}

func (r *robot) gone(old string) {
	r.t.Helper()
	r.until(fmt.Sprintf("the screen still shows %q", old), func(text string) bool { return !strings.Contains(text, old) })
}

func (r *robot) press(keys string) {
	r.t.Helper()
	if _, err := r.tty.WriteString(keys); err != nil {
		r.t.Fatal(err)
	}
}

// click clicks where the screen shows a text.
func (r *robot) click(on string) {
	r.t.Helper()
	r.shows(on)
	for y, line := range strings.Split(r.text(), "\n") {
		if before, _, found := strings.Cut(line, on); found {
			x := len([]rune(before))
			r.press(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x+1, y+1, x+1, y+1))
			return
		}
	}
}

func (r *robot) resize(rows, cols int) {
	r.t.Helper()
	r.mu.Lock()
	r.screen.Resize(rows, cols)
	r.mu.Unlock()
	if err := pty.Setsize(r.tty, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		r.t.Fatal(err)
	}
}

var (
	moments = regexp.MustCompile(`\d\d:\d\d:\d\d`)
	ages    = regexp.MustCompile(`\d+ s\b`)
)

// golden compares the screen with the one that is recorded. It waits for it, because a screen is
// drawn in pieces.
func (r *robot) golden(name string) {
	r.t.Helper()
	path := filepath.Join("testdata", "watch", name+".txt")
	masked := func(text string) string {
		var lines []string
		for line := range strings.SplitSeq(ages.ReplaceAllStringFunc(moments.ReplaceAllString(text, "00:00:00"), func(age string) string { return "0 s" + strings.Repeat(" ", len(age)-len("0 s")) }), "\n") {
			lines = append(lines, strings.TrimRight(line, " "))
		}
		return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(masked(r.text())), 0o644); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.until("the screen is not that of "+path, func(text string) bool { return masked(text) == string(want) })
}

// leave waits for the end.
func (r *robot) leave() {
	r.t.Helper()
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("it ended with %v", err)
		}
	case <-time.After(robotPatience):
		r.t.Fatal("it does not end")
	}
}

// restored says whether everything that was switched on in the terminal is off again.
func (r *robot) restored() {
	r.t.Helper()
	for _, mode := range []string{"?1049", "?1000", "?2004"} {
		on, off := bytes.LastIndex(r.raw, []byte("\x1b["+mode+"h")), bytes.LastIndex(r.raw, []byte("\x1b["+mode+"l"))
		if on < 0 || off < on {
			r.t.Errorf("mode %s was switched on at %d and off at %d", mode, on, off)
		}
	}
	if hidden, shown := bytes.LastIndex(r.raw, []byte("\x1b[?25l")), bytes.LastIndex(r.raw, []byte("\x1b[?25h")); shown < hidden {
		r.t.Error("the cursor stays hidden")
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	bin := programs(t)
	for name, test := range map[string]func(*testing.T, *keeper){
		"shows sessions and mail as they change":   showsSessionsAndMail,
		"writes and answers as the person":         writesAndAnswers,
		"fits every terminal":                      fitsEveryTerminal,
		"is used with a mouse":                     isUsedWithAMouse,
		"has no colour with NO_COLOR":              hasNoColour,
		"gives the terminal back when it is ended": givesTheTerminalBack,
		"needs a terminal, and monitor needs none": needsATerminal,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, town(t, bin))
		})
	}
}

// town is a root with three sessions and some mail.
func town(t *testing.T, bin string) *keeper {
	t.Helper()
	k := &keeper{t, bin, t.TempDir()}
	for _, alias := range []string{"amber", "birch", "cedar"} {
		k.run("register", alias, "--session-id", alias)
	}
	k.run("send", "--from", "amber", "birch", "--id", "m-1", "--kind", "question", "Is the build green?")
	k.run("poll-inbox", "--session-id", "birch")
	k.run("send", "--from", "birch", "amber", "--id", "m-2", "--reply-to", "m-1", "Yes, since this morning. Wide: 日本語, emoji: 👩‍💻 ⚠️, and \x1b[31mred\x1b[0m \u202etfel")
	k.run("send", "--from", "cedar", "birch", "--id", "m-3", "A line\nanother\nand more\nand more\nand the last one")
	return k
}

func showsSessionsAndMail(t *testing.T, k *keeper) {
	r := k.watch(24, 80)
	r.shows("amber", "birch", "cedar", "Is the build green?", "3 sessions", "2 messages waiting")
	r.golden("80x24")
	k.run("send", "--from", "amber", "cedar", "--id", "m-4", "just now")
	r.shows("just now", "3 messages waiting")
	k.run("poll-inbox", "--session-id", "cedar")
	r.shows("2 messages waiting")
	k.run("register", "elder", "--session-id", "elder")
	r.shows("elder", "4 sessions")

	r.press("j") // amber
	r.shows("mail of amber")
	r.gone("and more")
	r.press("d")
	r.shows("amber: mail waits for its next turn", "dnd unknown")
	r.press("d")
	r.shows("amber: mail wakes it")
	r.gone("dnd unknown")
	r.press("\x1b[A\t") // everybody, and over to the messages
	r.shows("all mail")
	r.press("kk")
	r.shows("m-2: queued")
	r.press("w")
	r.shows("m-2, from birch to amber: queued", "stored")
	r.press("\x1b")
	r.gone("m-2, from birch")
	r.press("\r")
	r.shows("thread of m-2", "Is the build green?")
	r.gone("just now")
	r.golden("thread")
	r.press("\x1b")
	r.shows("just now")
	r.press("/")
	r.shows("search")
	r.press("morning\r")
	r.shows("found: morning", "1 message found")
	r.gone("just now")
	r.press("\x1b")
	r.shows("all mail")
	r.press("?")
	r.shows("mark my own mail as read")
	r.press("\x1b")
	r.gone("mark my own mail as read")
	r.press("q")
	r.leave()
	r.restored()
	if out := k.run("poll-inbox", "--peek", "--session-id", "amber"); !strings.Contains(out, "since this morning") {
		t.Errorf("watching took mail: %s", out)
	}
}

func writesAndAnswers(t *testing.T, k *keeper) {
	r := k.watch(24, 80)
	r.shows("amber", "and more")
	r.press("jc")
	r.shows("to amber")
	r.press("hello from the \x17screen\x1b")
	r.gone("to amber")
	r.press("c")
	r.shows("hello from screen") // the draft is kept, and ^W took a word
	r.press("\x1b[200~, pasted\rq in two lines\x1b[201~")
	r.shows("q in two lines")
	r.press("\r")
	r.shows("queued for amber as", "dana (person) → amber")
	r.press("\tr") // the last message is the person's own
	r.shows("to dana, about")
	r.press("\x1b")
	r.gone("to dana, about")
	r.press("kr")
	r.shows("to birch, about m-2")
	r.press("seen\r")
	r.shows("queued for birch as")
	r.click("everybody")
	r.shows("dana (person) → birch")
	if out := k.run("poll-inbox", "--session-id", "amber", "--json"); !strings.Contains(out, `hello from screen, pasted\nq in two lines`) {
		t.Errorf("amber has %s", out)
	}
	k.run("send", "--from", "amber", "dana", "--id", "m-9", "for the person")
	r.shows("for the person", "amber (claimed) → dana")
	r.press("m")
	r.shows("dana: 1 message read", "amber (claimed) → dana")
	r.press("\x03")
	r.leave()
}

func fitsEveryTerminal(t *testing.T, k *keeper) {
	r := k.watch(60, 200)
	r.shows("and more …")
	r.golden("200x60")
	r.resize(12, 40)
	r.gone("cedar     ")
	r.shows("everybody", "and more")
	r.golden("40x12")
	r.resize(3, 10)
	r.shows("too small")
	r.resize(24, 80)
	r.shows("Is the build green?")
	r.golden("80x24")
}

func isUsedWithAMouse(t *testing.T, k *keeper) {
	r := k.watch(24, 80)
	r.shows("and more")
	r.click("cedar")
	r.shows("mail of cedar")
	r.gone("Is the build green?")
	r.click("everybody")
	r.shows("all mail")
	r.click("Is the build green?")
	r.shows("m-1: read")
	r.click("Is the build green?") // once more
	r.shows("thread of m-1")
	r.click("Esc back")
	// The last line is drawn in pieces: only when it is new up to here, a click on a word of it
	// hits that word.
	r.shows("all mail", "? help  1 mail  2 waiting  3 timeline  Enter thread")
	r.click("? help")
	r.shows("mark my own mail as read")
	r.click("mark my own mail as read")
	r.gone("mark my own mail as read")
	r.click("q quit")
	r.leave()
}

func hasNoColour(t *testing.T, k *keeper) {
	colour := regexp.MustCompile(`\x1b\[[0-9;]*(3[0-8]|4[0-8]|9[0-7])[;m]`)
	for env, want := range map[string]bool{"X=1": true, "NO_COLOR=1": false} {
		r := k.watch(24, 80, env)
		r.shows("and more")
		r.press("q")
		r.leave()
		if colour.Match(r.raw) != want {
			t.Errorf("%s: colours %t", env, !want)
		}
		if bytes.Contains(r.raw, []byte("\x1b[31mred")) || strings.Contains(string(r.raw), "\u202e") {
			t.Error("a sequence of a body reached the terminal")
		}
	}
}

func givesTheTerminalBack(t *testing.T, k *keeper) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		r := k.watch(24, 80)
		r.shows("and more")
		if err := r.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		r.leave()
		r.restored()
	}
}

func needsATerminal(t *testing.T, k *keeper) {
	if out, err := k.try("watch"); err == nil || !strings.Contains(out, "c2c monitor") {
		t.Errorf("%v: %s", err, out)
	}
}
