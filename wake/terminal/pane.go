package terminal

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of panes.
const (
	KindTmux   = "tmux"
	KindScreen = "screen"
)

// Pane is a pane of tmux or a window of screen.
type Pane struct {
	Kind   string // Tmux or Screen
	Socket string // tmux: the path of its socket; screen: the name of its session, <pid>.<name>
	ID     string // tmux: %<number>; screen: the number of the window
}

// Types reports whether c2c knows how a client draws its prompt. Only then can c2c type there.
func TypesInPane(client string) bool { return KnowsPrompt(client) }

// String returns the form that Parse reads: one line, with the socket last.
func (p Pane) String() string { return p.Kind + ":" + p.ID + ":" + p.Socket }

// Parse returns the pane that String has written. For any other text it returns an error.
func ParsePane(s string) (Pane, error) {
	kind, rest, _ := strings.Cut(s, ":")
	id, socket, _ := strings.Cut(rest, ":")
	p := Pane{Kind: kind, Socket: socket, ID: id}
	if err := p.valid(); err != nil {
		return Pane{}, fmt.Errorf("pane %.200q: %w", s, err)
	}
	return p, nil
}

// Here returns the pane that this process runs in, from the variables of tmux or screen.
func PaneHere(getenv func(string) string) (Pane, error) {
	tmux, sty := getenv("TMUX"), getenv("STY")
	var p Pane
	switch {
	case tmux != "" && sty != "":
		return Pane{}, errors.New("tmux and screen are nested here: unset TMUX or STY, to choose one")
	case tmux != "": // <socket>,<pid>,<session>; the path of the socket may have commas, too
		socket := tmux
		for range 2 {
			socket = socket[:max(0, strings.LastIndexByte(socket, ','))]
		}
		p = Pane{Kind: KindTmux, Socket: socket, ID: getenv("TMUX_PANE")}
	case sty != "":
		p = Pane{Kind: KindScreen, Socket: sty, ID: getenv("WINDOW")}
	default:
		return Pane{}, errors.New("neither TMUX nor STY is set: run this inside tmux or screen")
	}
	if err := p.valid(); err != nil {
		return Pane{}, fmt.Errorf("the pane that the environment names, %.200q: %w", p.String(), err)
	}
	return p, nil
}

// maxSocket is the longest path of a socket that the kernel accepts, in bytes.
const maxSocket = 107

// valid returns an error if tmux or screen could take the pane's ID or Socket for an option, for another target or for a format.
func (p Pane) valid() error {
	if p.Socket == "" || len(p.Socket) > maxSocket || !utf8.ValidString(p.Socket) || strings.ContainsFunc(p.Socket, unicode.IsControl) {
		return errors.New("the name of its socket is empty or invalid")
	}
	switch p.Kind {
	case KindTmux:
		number, found := strings.CutPrefix(p.ID, "%")
		if !found || !isNumber(number) {
			return errors.New("the id of a tmux pane is %<number>")
		}
		if !filepath.IsAbs(p.Socket) || filepath.Clean(p.Socket) != p.Socket {
			return errors.New("the socket of tmux must be an absolute path")
		}
	case KindScreen:
		pid, name, _ := strings.Cut(p.Socket, ".")
		if !isNumber(p.ID) {
			return errors.New("the id of a screen window is a number")
		}
		if !isNumber(pid) || name == "" || strings.Contains(name, "/") {
			return errors.New("the name of a screen session is <pid>.<name>")
		}
	default:
		return errors.New("it is of neither tmux nor screen")
	}
	return nil
}

// isNumber reports whether s is a number as a program prints it.
func isNumber(s string) bool {
	n, err := strconv.ParseUint(s, 10, 31)
	return err == nil && strconv.FormatUint(n, 10) == s
}
