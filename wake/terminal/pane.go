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

// Pane is a pane of tmux.
type Pane struct {
	Socket string // the path of the server's socket
	ID     string // %<number>
}

// String returns the form that ParsePane reads: one line, with the socket last.
func (p Pane) String() string { return "tmux:" + p.ID + ":" + p.Socket }

// ParsePane returns the pane that String has written. For any other text it returns an error.
func ParsePane(s string) (Pane, error) {
	rest, isTmux := strings.CutPrefix(s, "tmux:")
	id, socket, _ := strings.Cut(rest, ":")
	p := Pane{Socket: socket, ID: id}
	err := p.valid()
	if !isTmux {
		err = errors.New("c2c types into no pane of this kind")
	}
	if err != nil {
		return Pane{}, fmt.Errorf("pane %.200q: %w", s, err)
	}
	return p, nil
}

// PaneHere returns the pane that this process runs in, from the variables of tmux.
func PaneHere(getenv func(string) string) (Pane, error) {
	socket := getenv("TMUX") // <socket>,<pid>,<session>; the path of the socket may have commas, too
	if socket == "" {
		return Pane{}, errors.New("TMUX is not set: run this inside tmux")
	}
	for range 2 {
		socket = socket[:max(0, strings.LastIndexByte(socket, ','))]
	}
	p := Pane{Socket: socket, ID: getenv("TMUX_PANE")}
	if err := p.valid(); err != nil {
		return Pane{}, fmt.Errorf("the pane that the environment names, %.200q: %w", p.String(), err)
	}
	return p, nil
}

// maxSocket is the longest path of a socket that the kernel accepts, in bytes.
const maxSocket = 107

// valid returns an error if tmux could take the pane's ID or Socket for an option, another target
// or a format.
func (p Pane) valid() error {
	number, found := strings.CutPrefix(p.ID, "%")
	n, err := strconv.ParseUint(number, 10, 31)
	switch {
	case p.Socket == "" || len(p.Socket) > maxSocket || !utf8.ValidString(p.Socket) || strings.ContainsFunc(p.Socket, unicode.IsControl):
		return errors.New("the name of its socket is empty or invalid")
	case !found || err != nil || strconv.FormatUint(n, 10) != number:
		return errors.New("the id of a tmux pane is %<number>")
	case !filepath.IsAbs(p.Socket) || filepath.Clean(p.Socket) != p.Socket:
		return errors.New("the socket of tmux must be an absolute path")
	}
	return nil
}
