package terminal

import (
	"errors"
	"fmt"
	"slices"
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

// A paneKind is a program with panes that c2c can read and type into. Its file adds it to paneKinds
// in init; a test in pane_test.go names what is missing there.
type paneKind struct {
	name     string // also that of the program
	variable string // set in every pane
	sockets  string // the variable with the directory of its sockets, if the program needs it; the wake daemon keeps it
	here     func(getenv func(string) string) (socket, id string)
	valid    func(Pane) error // refuses what the program could take for an option, another target or a format
	open     func(path string, getenv func(string) string, p Pane, process int) (terminal, error)
}

var paneKinds []paneKind

func kindOf(name string) (kind paneKind, known bool) {
	i := slices.IndexFunc(paneKinds, func(k paneKind) bool { return k.name == name })
	if i < 0 {
		return paneKind{}, false
	}
	return paneKinds[i], true
}

// PaneEnv returns the variables that a process needs to type into panes.
func PaneEnv() (names []string) {
	for _, k := range paneKinds {
		if k.sockets != "" {
			names = append(names, k.sockets)
		}
	}
	return names
}

// Pane is a pane of tmux or a window of screen.
type Pane struct {
	Kind   string // KindTmux or KindScreen
	Socket string // tmux: the path of its socket; screen: the name of its session, <pid>.<name>
	ID     string // tmux: %<number>; screen: the number of the window
}

// String returns the form that Parse reads: one line, with the socket last.
func (p Pane) String() string { return p.Kind + ":" + p.ID + ":" + p.Socket }

// ParsePane returns the pane that String has written. For any other text it returns an error.
func ParsePane(s string) (Pane, error) {
	kind, rest, _ := strings.Cut(s, ":")
	id, socket, _ := strings.Cut(rest, ":")
	p := Pane{Kind: kind, Socket: socket, ID: id}
	if err := p.valid(); err != nil {
		return Pane{}, fmt.Errorf("pane %.200q: %w", s, err)
	}
	return p, nil
}

// PaneHere returns the pane that this process runs in, from the variables of tmux or screen.
func PaneHere(getenv func(string) string) (Pane, error) {
	var names, variables, nested []string
	var p Pane
	for _, k := range paneKinds {
		names, variables = append(names, k.name), append(variables, k.variable)
		if getenv(k.variable) != "" {
			nested = append(nested, k.variable)
			p.Kind = k.name
			p.Socket, p.ID = k.here(getenv)
		}
	}
	switch {
	case len(nested) > 1:
		return Pane{}, fmt.Errorf("one is nested in another here: unset %s, to choose one", strings.Join(nested, " or "))
	case len(nested) == 0:
		return Pane{}, fmt.Errorf("neither %s is set: run this inside %s", strings.Join(variables, " nor "), strings.Join(names, " or "))
	}
	if err := p.valid(); err != nil {
		return Pane{}, fmt.Errorf("the pane that the environment names, %.200q: %w", p.String(), err)
	}
	return p, nil
}

// maxSocket is the longest path of a socket that the kernel accepts, in bytes.
const maxSocket = 107

// valid returns an error if the program could take the pane's ID or Socket for something else.
func (p Pane) valid() error {
	if p.Socket == "" || len(p.Socket) > maxSocket || !utf8.ValidString(p.Socket) || strings.ContainsFunc(p.Socket, unicode.IsControl) {
		return errors.New("the name of its socket is empty or invalid")
	}
	k, known := kindOf(p.Kind)
	if !known {
		return errors.New("c2c types into no pane of this kind")
	}
	return k.valid(p)
}

// isNumber reports whether s is a number as a program prints it.
func isNumber(s string) bool {
	n, err := strconv.ParseUint(s, 10, 31)
	return err == nil && strconv.FormatUint(n, 10) == s
}
