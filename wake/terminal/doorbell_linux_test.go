package terminal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/wake"
)

var muxNotice = wake.Notice{Count: 2, From: []string{"amber", "birch"}, Oldest: "a"}

const sentinel = `<c2c event="message_pending" count="2" from="amber,birch">call the c2c tool poll_inbox</c2c>`

// With the waits of a real ring, and nobody who waits for the client to draw, while a person looks
// on.
func TestARingTakesItsOwnTime(t *testing.T) {
	l := newLab(t)
	l.attach()
	b := l.bell()
	b.wait = nil
	if err := b.Ring(t.Context(), muxNotice); err != nil {
		t.Fatal(err)
	}
	if r := l.say("sync"); !slices.Equal(r.Lines, []string{sentinel}) {
		t.Errorf("the client got %+v", r)
	}
}

// refused rings in vain and without a trace.
func refused(t *testing.T, l *lab, b *PaneDoorbell, why, input string) {
	t.Helper()
	if err := b.Ring(t.Context(), muxNotice); !errors.Is(err, wake.ErrUncaptured) || !strings.Contains(err.Error(), why) {
		t.Errorf("%v, want one with %q", err, why)
	}
	l.untouched(input)
}

func TestADraftIsNotTouched(t *testing.T) {
	l := newLab(t)
	l.say("draft half a thought")
	refused(t, l, l.bell(), "a draft stands", "half a thought")
}

func TestAnOpenDialogIsNotAnswered(t *testing.T) {
	l := newLab(t)
	for _, mode := range []string{"dialog", "overlay"} {
		l.say("mode " + mode)
		refused(t, l, l.bell(), "Do you want to run rm?", "")
	}
}

func TestADialogThatOpensAfterThePasteGetsNoEnter(t *testing.T) {
	for _, mode := range []string{"dialog", "overlay"} {
		t.Run(mode, func(t *testing.T) {
			l := newLab(t)
			l.say("arm " + mode)
			b := l.bell()
			b.answer = time.Second / 2
			err := b.Ring(t.Context(), muxNotice)
			if !errors.Is(err, wake.ErrUncaptured) || !strings.Contains(err.Error(), "pasted, and not sent") {
				t.Error(err)
			}
			if r := l.say("sync"); r.Approved != 0 || len(r.Lines) != 0 || r.Input != sentinel {
				t.Errorf("the client got %+v", r)
			}
		})
	}
}

func TestAScreenThatMovesIsLeftAlone(t *testing.T) {
	l := newLab(t)
	l.say("mode moving")
	b := l.bell()
	b.prompt = func(*Screen) (string, error) { return "", nil }
	refused(t, l, b, "moves", "")
}

func TestACommandInTheForegroundIsNotTypedTo(t *testing.T) {
	l := newLab(t)
	l.say("edit")
	b := l.bell()
	b.wait = nil
	err := b.Ring(t.Context(), muxNotice)
	if !errors.Is(err, wake.ErrUncaptured) || !strings.Contains(err.Error(), "another program has its terminal") {
		t.Error(err)
	}
	l.say("close")
	l.untouched("")
}

func TestAClientThatReadsWholeLinesIsNotTypedTo(t *testing.T) {
	l := newLab(t)
	l.say("cook")
	err := l.bell().Ring(t.Context(), muxNotice)
	if !errors.Is(err, wake.ErrUncaptured) || !strings.Contains(err.Error(), "single keys") {
		t.Error(err)
	}
}

// An Enter that does nothing leaves the line as a draft, and that is not added to.
func TestAnIgnoredLineIsReportedAndNotRepeated(t *testing.T) {
	l := newLab(t)
	l.say("mode deaf")
	b := l.bell()
	b.answer = 2 * time.Second // by then it must have drawn the line
	err := b.Ring(t.Context(), muxNotice)
	if !errors.Is(err, wake.ErrUncaptured) || !strings.Contains(err.Error(), "the line stays in its prompt") {
		t.Error(err)
	}
	refused(t, l, b, "the line stays in its prompt", sentinel)
}

// tmux has a language of its own for its commands.
func TestTextIsPastedAsItIs(t *testing.T) {
	l := newLab(t)
	term, err := l.bell().open()
	if err != nil {
		t.Fatal(err)
	}
	const text = `\015$HOME^M;#{pane_id}`
	if err := term.Paste(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	l.untouched(text)
}

func TestCopyModeIsNotDisturbed(t *testing.T) {
	l := newLab(t)
	l.tmux("copy-mode", "-t", "%0")
	refused(t, l, l.bell(), "copy mode", "")
	if got := l.tmux("display-message", "-p", "#{pane_in_mode}"); got != "1\n" {
		t.Errorf("pane_in_mode is %q afterwards", got)
	}
}

func TestKeysGoToOnePaneOnly(t *testing.T) {
	l := newLab(t)
	l.tmux("set-option", "-w", "synchronize-panes", "on")
	refused(t, l, l.bell(), "synchronized", "")
	l.tmux("set-option", "-w", "synchronize-panes", "off")
	l.tmux("select-pane", "-d", "-t", "%0")
	refused(t, l, l.bell(), "takes no input", "")
}

func TestOnlyThePaneOfTheClientIsTypedTo(t *testing.T) {
	l := newLab(t)
	elsewhere := newLab(t)
	b := l.bell()
	b.Process = elsewhere.said.Pid
	if err := b.Ring(t.Context(), muxNotice); !errors.Is(err, wake.ErrUnreachable) || !strings.Contains(err.Error(), "is not in") {
		t.Error(err)
	}
	b = l.bell()
	b.Pane.ID = strings.TrimSpace(l.tmux("split-window", "-P", "-F", "#{pane_id}", "cat"))
	if err := b.Ring(t.Context(), muxNotice); !errors.Is(err, wake.ErrUnreachable) || !strings.Contains(err.Error(), "is not in") {
		t.Error(err)
	}
	l.untouched("")
	elsewhere.untouched("")
}

func TestADeadPaneIsUnreachable(t *testing.T) {
	l := newLab(t)
	l.tmux("set-option", "-w", "remain-on-exit", "on")
	b := l.bell()
	l.conn.Close()
	gone(t, b.Process)
	// Its hook pane-died sometimes never runs (3.3a): it has seen the end of the output, and not
	// SIGCHLD.
	for l.tmux("display-message", "-p", "-t", "%0", "#{pane_dead}") != "1\n" {
	}
	if err := b.Ring(t.Context(), muxNotice); !errors.Is(err, wake.ErrUnreachable) || !strings.Contains(err.Error(), "dead") {
		t.Error(err)
	}
}

// A server of somebody else could have tmux run a program as us.
func TestOnlyOurOwnSocketIsTalkedTo(t *testing.T) {
	l := newLab(t)
	b := l.bell()
	link := filepath.Join(l.dir, "link")
	if err := os.Symlink(b.Pane.Socket, link); err != nil {
		t.Fatal(err)
	}
	b.Pane.Socket = link
	if err := b.Ring(t.Context(), muxNotice); !errors.Is(err, wake.ErrUnreachable) || !strings.Contains(err.Error(), "is not a socket") {
		t.Error(err)
	}
}

func TestSomebodyWhoTypesIsWaitedForOnce(t *testing.T) {
	l := newLab(t)
	p := l.attach()
	p.types("x")
	p.see("> x")
	p.types("\x15")
	l.say("sync")
	b := l.bell()
	var waited, ahead time.Duration
	b.now = func() time.Time { return time.Now().Add(ahead) }
	b.wait = func(_ context.Context, d time.Duration) error {
		if waited += d; d > between {
			ahead += d + 8*time.Second // the terminal's answer, next, is as good as a key
		}
		l.say("sync")
		return nil
	}
	if err := b.Ring(t.Context(), muxNotice); err != nil {
		t.Fatal(err)
	}
	if waited < sinceKey || waited > 12*time.Second {
		t.Errorf("waited %v", waited)
	}
	b.now = time.Now
	before := l.say("sync").Loose
	if err := b.Ring(t.Context(), muxNotice); !errors.Is(err, wake.ErrUncaptured) || !strings.Contains(err.Error(), "somebody types") {
		t.Error(err)
	}
	if r := l.say("sync"); len(r.Lines) != 1 || r.Loose != before {
		t.Errorf("the client got %+v", r)
	}
}

// The kernel tells when a terminal was read from in steps of eight seconds.
func TestAReadIsNotToldTooEarly(t *testing.T) {
	l := newLab(t)
	start := time.Now()
	l.say("sync")
	term, err := l.bell().open()
	if err != nil {
		t.Fatal(err)
	}
	if _, read, err := term.look(t.Context()); err != nil || read.Before(start) || read.After(time.Now().Add(8*time.Second+kernelTick)) {
		t.Errorf("read at %v or later, told as %v, %v", start, read, err)
	}
}

// tmux knows of keys that never reach the client, the prefix for one.
func TestAKeyForTmuxCounts(t *testing.T) {
	l := newLab(t)
	b := l.bell()
	term, err := b.open()
	if err != nil {
		t.Fatal(err)
	}
	if at, err := term.typed(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("nobody is attached, typed at %v, %v", at, err)
	}
	start := time.Now()
	l.attach()
	if at, err := term.typed(t.Context()); err != nil || at.Before(start) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("typed at %v, %v", at, err)
	}
	l.tmux("split-window", "-t", "%0", "cat") // now the other pane gets the keys
	if at, err := term.typed(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("another pane is active, typed at %v, %v", at, err)
	}
}

// A person who wants to see a session gets the window and the pane in which it runs.
func TestAPaneIsBroughtToTheFront(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	pane, err := PaneHere(func(key string) string { return l.said.Env[key] })
	if err != nil {
		t.Fatal(err)
	}
	l.tmux("split-window", "-t", pane.ID)
	l.tmux("new-window")
	if err := Show(t.Context(), pane); err == nil || !strings.Contains(err.Error(), "tmux -S "+pane.Socket+" attach") {
		t.Errorf("no terminal shows tmux: %v", err)
	}
	l.attach()
	if err := Show(t.Context(), pane); err != nil {
		t.Fatal(err)
	}
	if now := strings.TrimSpace(l.tmux("display-message", "-p", "#{pane_id}")); now != pane.ID {
		t.Errorf("pane %s is in front, not %s", now, pane.ID)
	}
	for _, other := range []Pane{{pane.Socket + "-gone", pane.ID}, {pane.Socket, "%1; kill-server"}} {
		if err := Show(t.Context(), other); err == nil {
			t.Errorf("%v is shown", other)
		}
	}
}
