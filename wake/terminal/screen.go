package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"c2c/wake"
)

// gnuScreen is a window of a GNU screen session (measured with 4.9.0). c2c reads the window from
// screen's hardcopy, a file with a copy of the window. The hardcopy does not show:
//
//   - The exact text. A hardcopy holds only the low byte of each character, so U+276F is an "o". mux reads each
//     byte as a Latin-1 character. Instead of a control character it takes U+2500 plus the byte (a line or a block).
//   - Colours. So a suggestion in Codex's prompt looks like a draft, and mux types nothing.
//   - Whether the client asked for bracketed paste. mux sends the brackets anyway.
//   - Prompts and lists that screen itself draws over the window. If one is open, it gets the text that mux
//     types. Then the text does not appear in the client's prompt, so mux does not press Enter.
//   - When a person pressed keys. mux knows only when the client last read keys, and sees no keys for screen itself.
//   - Renumbered windows. mux knows only the number that the window had at its start.
//
// A person who is attached to the session sees screen's answers for a moment, in its message line.
type gnuScreen struct {
	cmd        command
	pane       Pane
	pid        int // the client's process
	dir        string
	scrollback int // in lines; -1 before the first answer
}

func init() {
	paneKinds = append(paneKinds, paneKind{name: KindScreen, variable: "STY", sockets: "SCREENDIR",
		here: func(getenv func(string) string) (socket, id string) { return getenv("STY"), getenv("WINDOW") },
		valid: func(p Pane) error {
			pid, name, _ := strings.Cut(p.Socket, ".")
			if !isNumber(p.ID) {
				return errors.New("the id of a screen window is a number")
			}
			if !isNumber(pid) || name == "" || strings.Contains(name, "/") {
				return errors.New("the name of a screen session is <pid>.<name>")
			}
			return nil
		},
		open: func(path string, getenv func(string) string, p Pane, process int) (terminal, error) {
			return newScreen(path, getenv("SCREENDIR"), p, process)
		},
	})
}

func newScreen(path, sockets string, p Pane, pid int) (*gnuScreen, error) {
	dir, err := os.MkdirTemp("", "c2c-screen-") // 0700
	if err != nil {
		return nil, fmt.Errorf("make a directory for screen's hardcopy: %w", err)
	}
	s := &gnuScreen{command{path: path, args: []string{"-S", p.Socket, "-p", p.ID}}, p, pid, dir, -1}
	if sockets != "" {
		s.cmd.env = []string{"SCREENDIR=" + sockets}
	}
	return s, nil
}

func (s *gnuScreen) close() error { return os.RemoveAll(s.dir) }

// look implements terminal. It must detect copy mode, in which screen refuses to change the number
// of scrollback lines; there is no other sign of this mode. So look increases the number by one,
// checks whether it has changed, and restores it.
func (s *gnuScreen) look(ctx context.Context) (v *Screen, read time.Time, err error) {
	if read, err = s.terminal(); err != nil {
		return v, read, err
	}
	if s.scrollback < 0 {
		st, err := s.info(ctx)
		if err != nil {
			return v, read, err
		}
		s.scrollback = st.scrollback
	}
	if err := os.WriteFile(s.file(), nil, 0o600); err != nil {
		return v, read, fmt.Errorf("make a file for screen's hardcopy: %w", err)
	}
	if _, err := s.cmd.run(ctx, "-X", "eval", s.scrollbackCommand(s.scrollback+1), `@hardcopy "`+s.file()+`"`); err != nil {
		return v, read, err
	}
	st, err := s.info(ctx) // screen answers in order, so it has written the hardcopy by now
	if _, backErr := s.cmd.run(context.WithoutCancel(ctx), "-X", "eval", s.scrollbackCommand(s.scrollback)); err == nil {
		err = backErr
	}
	if err != nil {
		return v, read, err
	}
	if st.scrollback != s.scrollback+1 {
		return v, read, errors.New("its window is in copy mode")
	}
	lines, err := s.hardcopy()
	if err == nil && (len(lines) != st.height || st.row >= len(lines)) { // a low byte can look like the end of a line
		err = errors.New("screen's hardcopy is not as high as its window")
	}
	if err != nil {
		return v, read, err
	}
	return Captured(withSigns(lines), st.row, st.col), read, nil
}

// scrollbackCommand returns the command that sets the number of scrollback lines. The @ stops
// screen from showing a message, which would stay for a second and make look wait.
func (s *gnuScreen) scrollbackCommand(lines int) string { return "@scrollback " + strconv.Itoa(lines) }

// terminal checks that the client runs in this window, and in the foreground of its terminal.
func (s *gnuScreen) terminal() (read time.Time, err error) {
	p, err := readProcess(s.pid)
	if err != nil {
		return read, err
	}
	shell, err := readProcess(p.Session) // the first process in the window
	if err != nil {
		return read, err
	}
	getenv, err := environOf(p.Session)
	if err != nil {
		return read, err
	}
	server, _, _ := strings.Cut(s.pane.Socket, ".")
	if strconv.Itoa(shell.Parent) != server || getenv("WINDOW") != s.pane.ID {
		return read, fmt.Errorf("%w: process %d is not in window %s of %q", wake.ErrUnreachable, s.pid, s.pane.ID, s.pane.Socket)
	}
	return foreground(p)
}

// state has what screen reports about a window. In `(3,1)/(80,24)+1024 +(+)flow UTF-8 0(title)` the
// first pair is the column and row of the cursor, counted from 1, the second pair is the width and
// height, and 1024 is the number of scrollback lines.
type muxState struct{ row, col, height, scrollback int }

func (s *gnuScreen) info(ctx context.Context) (muxState, error) {
	out, err := s.cmd.run(ctx, "-Q", "info")
	if err != nil {
		return muxState{}, err
	}
	return parseInfo(out)
}

// parseInfo parses screen's answer to the command info. A warning may come before the answer, for
// example if any screen session of this user has died.
func parseInfo(out string) (st muxState, err error) {
	var width int
	n, _ := fmt.Sscanf(out[max(0, strings.IndexByte(out, '(')):], "(%d,%d)/(%d,%d)+%d", &st.col, &st.row, &width, &st.height, &st.scrollback)
	if n != 5 || st.row < 1 || st.col < 1 {
		return muxState{}, fmt.Errorf("screen answers %.100q to the command info", out)
	}
	st.row, st.col = st.row-1, st.col-1
	return st, nil
}

func (s *gnuScreen) file() string { return filepath.Join(s.dir, "hardcopy") }

func (s *gnuScreen) hardcopy() ([]string, error) {
	f, err := os.Open(s.file())
	if err != nil {
		return nil, fmt.Errorf("read screen's hardcopy: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxOutput))
	if err != nil {
		return nil, fmt.Errorf("read screen's hardcopy: %w", err)
	}
	if len(data) == 0 {
		return nil, errors.New("screen wrote no hardcopy")
	}
	return readable(data), nil
}

// readable returns a hardcopy's lines without control characters. Otherwise the low bytes of a
// hostile text could form a control sequence that draws something else.
func readable(hardcopy []byte) []string {
	lines := strings.Split(strings.TrimSuffix(string(hardcopy), "\n"), "\n")
	for i, line := range lines {
		wide := make([]rune, len(line))
		for j, b := range []byte(line) {
			wide[j] = rune(b)
			if b < ' ' || b >= 0x7f && b < 0xa0 {
				wide[j] += 0x2500
			}
		}
		lines[i] = string(wide)
	}
	return lines
}

// withSigns restores Claude Code's prompt sign: screen's hardcopy has only the sign's low byte.
func withSigns(lines []string) []string {
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "o\u00a0"); ok {
			lines[i] = "❯\u00a0" + rest
		}
	}
	return lines
}

// Paste implements terminal. It escapes \, ^ and $, because these have a meaning for screen.
func (s *gnuScreen) Paste(ctx context.Context, text string) error {
	quoted := strings.NewReplacer(`\`, `\\`, `^`, `\^`, `$`, `\$`).Replace(text)
	_, err := s.cmd.run(ctx, "-X", "stuff", "\x1b[200~"+quoted+"\x1b[201~")
	return err
}

// Enter implements terminal.
func (s *gnuScreen) Enter(ctx context.Context) error {
	_, err := s.cmd.run(ctx, "-X", "stuff", "\r")
	return err
}
