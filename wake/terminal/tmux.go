package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"c2c/wake"
	"c2c/wake/socket"
)

// tmux is a pane of a tmux server (measured with 3.3a).
type tmux struct {
	path string // of the program tmux
	pane Pane
	pid  int // the client's process
}

// fields are the fields of a pane that look reads, in this order. The title is not among them,
// because the client chooses it.
const fields = "#{pane_id} #{pane_dead} #{pane_in_mode} #{pane_synchronized} #{pane_input_off} #{cursor_x} #{cursor_y} #{pane_tty}"

// look reads what the pane shows, and the latest time at which a person may have typed. It returns
// an error if a typed key would not reach the client. The server reads all fields at the same
// moment.
func (t *tmux) look(ctx context.Context) (v *Screen, last time.Time, err error) {
	// Refuse the server of another user: the server could make the command tmux run a program.
	if err := socket.OurSocket(t.pane.Socket); err != nil {
		return v, last, err
	}
	out, err := t.run(ctx, "display-message", "-p", "-t", t.pane.ID, fields,
		";", "capture-pane", "-p", "-e", "-t", t.pane.ID)
	if err != nil {
		return v, last, err
	}
	head, body, _ := strings.Cut(out, "\n")
	f := strings.Fields(head)
	if len(f) != 8 || f[0] != t.pane.ID {
		return v, last, fmt.Errorf("%w: tmux answers %.100q", wake.ErrUnreachable, head)
	}
	switch {
	case f[1] != "0":
		return v, last, fmt.Errorf("%w: its pane is dead", wake.ErrUnreachable)
	case f[2] != "0":
		return v, last, errors.New("its pane is in copy mode or the like")
	case f[3] != "0": // an Enter would go to every pane of the window
		return v, last, errors.New("its pane is synchronized with others")
	case f[4] != "0":
		return v, last, errors.New("its pane takes no input")
	}
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	col, colErr := strconv.Atoi(f[5])
	row, rowErr := strconv.Atoi(f[6])
	if colErr != nil || rowErr != nil || col < 0 || row < 0 || row >= len(lines) {
		return v, last, errors.New("no cursor on its screen")
	}
	if last, err = t.terminal(f[7]); err != nil {
		return v, last, err
	}
	typed, err := t.typed(ctx)
	if typed.After(last) {
		last = typed
	}
	return Captured(lines, row, col), last, err
}

// terminal checks that the client runs in the pane's terminal, and in its foreground.
func (t *tmux) terminal(path string) (read time.Time, err error) {
	p, err := readProcess(t.pid)
	if err != nil {
		return read, err
	}
	dev, err := device(path)
	if err != nil {
		return read, err
	}
	if dev != p.Terminal {
		return read, fmt.Errorf("%w: process %d is not in pane %s", wake.ErrUnreachable, t.pid, t.pane.ID)
	}
	return foreground(p, path)
}

// typed returns the latest time at which a person may have typed. For each attached terminal tmux
// keeps the time of the last key of any kind, in whole seconds. Terminals that show another pane do
// not count. tmux keeps no time for keys from `tmux send-keys` or from a terminal in control mode:
// c2c notices such keys only when the client reads them.
func (t *tmux) typed(ctx context.Context) (last time.Time, err error) {
	out, err := t.run(ctx, "list-clients", "-F", "#{client_activity} #{pane_id}")
	if err != nil {
		return last, err
	}
	for line := range strings.Lines(out) {
		activity, pane, _ := strings.Cut(strings.TrimSpace(line), " ")
		sec, err := strconv.ParseInt(activity, 10, 64)
		if err != nil {
			return last, fmt.Errorf("tmux reports %.100q as the time of the last key", activity)
		}
		if at := time.Unix(sec+1, 0); pane == t.pane.ID && at.After(last) {
			last = at
		}
	}
	return last, nil
}

// Paste implements Typewriter. With -p tmux puts brackets around the text if the client has asked
// for them.
func (t *tmux) Paste(ctx context.Context, text string) error {
	buffer := "c2c-" + strconv.Itoa(os.Getpid())
	_, err := t.run(ctx, "set-buffer", "-b", buffer, "--", text, ";", "paste-buffer", "-p", "-d", "-b", buffer, "-t", t.pane.ID)
	if err != nil {
		t.run(context.WithoutCancel(ctx), "delete-buffer", "-b", buffer) // otherwise the text stays among the person's buffers
	}
	return err
}

// Enter implements Typewriter.
func (t *tmux) Enter(ctx context.Context) error {
	_, err := t.run(ctx, "send-keys", "-t", t.pane.ID, "Enter")
	return err
}

// Show brings a pane of tmux to the front: in its session, and on the terminal of the person who is
// at tmux. If nobody is, it returns an error that says how to get there.
func Show(ctx context.Context, p Pane) error {
	if err := errors.Join(p.valid(), socket.OurSocket(p.Socket)); err != nil {
		return err
	}
	path, err := exec.LookPath("tmux")
	if err != nil {
		return err
	}
	t := &tmux{path, p, 0}
	if _, err = t.run(ctx, "select-window", "-t", p.ID, ";", "select-pane", "-t", p.ID); err != nil {
		return err
	}
	if _, err = t.run(ctx, "switch-client", "-t", p.ID); err != nil {
		return fmt.Errorf("no terminal shows its tmux: tmux -S %s attach -t %s (%w)", p.Socket, p.ID, err)
	}
	return nil
}
