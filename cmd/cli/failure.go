package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"c2c/broker"
	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// The exit status of every verb.
const (
	Done = iota
	Failed
	Usage
	Nothing // poll-inbox --check finds no mail, c2c ask gets no answer in time, or a status verb finds that its daemon does not run
	NoAlias
	Full
	Locked
)

// ErrUsage marks a mistake in the command line. c2c does not print the text of ErrUsage itself.
var ErrUsage = errors.New("usage")

// hinted is an error with a hint that says what to do.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// WithHint adds to an error a hint that says what to do about the error. If err is nil, or hint is
// "", it returns err itself.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return hinted{err, hint}
}

// Failure is an error in the form in which c2c prints it, with a hint and the exit status.
type Failure struct {
	Message string `json:"error"`
	Hint    string `json:"hint,omitempty"`
	Exit    int    `json:"exit"`
}

const everywhere = "c2c list --everywhere shows the sessions of all projects to a person"

// FailureOf turns an error of a verb into a Failure. It adds a hint if it knows one for this error.
func FailureOf(verb string, err error) Failure {
	f := Failure{Message: strings.TrimPrefix(err.Error(), ErrUsage.Error()+": "), Exit: Failed}
	var unknown *sessions.UnknownAliasError
	var noHost *broker.UnknownHostError
	switch {
	case errors.Is(err, ErrUsage):
		f.Exit, f.Hint = Usage, example(verb)+"c2c help "+verb+" shows how"
	case errors.As(err, &unknown):
		f.Exit, f.Hint = NoAlias, "c2c list shows all of this project"
		if strings.Index(unknown.Alias, "@") > 0 {
			f.Hint = everywhere
		}
		if len(unknown.Closest) > 0 {
			f.Hint = fmt.Sprintf("did you mean %q? %s", unknown.Closest[0], f.Hint)
		}
	case errors.As(err, &noHost):
		f.Exit = NoAlias
		if !noHost.Project {
			f.Hint = everywhere + "; c2c relay add user@" + noHost.Host + " pairs with it, if ssh reaches it"
		}
	case errors.Is(err, broker.ErrNoProjectName):
		f.Hint = "c2c relay project NAME gives the project a name; give it the same name on the other machine"
	case errors.Is(err, broker.ErrNoMessage):
		f.Hint = "c2c history and c2c outbox show ids"
	case errors.Is(err, sessions.ErrSelfSend):
		f.Hint = "c2c list shows the others"
	case errors.Is(err, broker.ErrNoAnswer):
		f.Exit = Nothing
	case errors.Is(err, inbox.ErrFull):
		f.Exit = Full
	case errors.Is(err, atomicfile.ErrLockTimeout):
		f.Exit, f.Hint = Locked, "another process holds the mailbox; try again, or look for a stopped c2c process"
	case errors.Is(err, context.DeadlineExceeded): // a wait for something else than a lock, such as a slow disk
		f.Message = strings.ReplaceAll(f.Message, context.DeadlineExceeded.Error(), "this took too long, and c2c has given up")
		f.Hint = "the machine or its disk may be busy: try again; c2c doctor shows problems"
	case atomicfile.IsInTheWay(err):
		f.Hint = "c2c uses only files and folders of this user that nobody else may write, and no links: check what is at this path, and move it away"
	case errors.Is(err, atomicfile.ErrTooLarge):
		f.Hint = "c2c makes no file that large: check the file, and move it away"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		f.Hint = "HOME, or C2C_MCP_BROKER_ROOT, must name a folder in which this user may write"
	case errors.Is(err, sessions.ErrNoCaller):
		f.Message, f.Hint = "for whom? add --session-id NAME", "c2c register --session-id NAME NAME makes that session, once; an agent's own shell needs no name, nor does a person's terminal outside of containers and sandboxes"
		if slices.Contains([]string{"send", "reply", "ask", "inject"}, verb) {
			f.Message = "who sends? add --from NAME"
		}
		if no := new(sessions.NoPersonError); errors.As(err, &no) {
			f.Message += "; c2c does not count you as a person, because " + no.Why
		}
	case errors.Is(err, sessions.ErrNoSession):
		f.Hint = "run it inside an agent session, or name one with --session-id; c2c list shows all"
	}
	var h hinted
	if errors.As(err, &h) {
		f.Hint = h.hint
	}
	return f
}

// OnlyPerson returns an error if no person has run a command that is for a person. The argument
// does completes the error "only a person ...", for example "opens the page". The session and the
// error are the answer to the question who calls.
func OnlyPerson(does string, s sessions.Session, err error) error {
	if err == nil && !s.IsProvenPerson() {
		err = sessions.InShellOf(s.Alias)
	}
	if !errors.Is(err, sessions.ErrNoSession) {
		return err
	}
	return WithHint(fmt.Errorf("only a person %s, and %s", does, sessions.WhyNoPerson(err)), "run this command in a terminal of your own; an agent asks its user to")
}

// CheckPerson is like OnlyPerson, but needs no root and no session.
func CheckPerson(c callers.Caller, does string) error {
	if err := callers.CheckPerson(c, new(sessions.SystemProcesses)); err != nil {
		return OnlyPerson(does, sessions.Session{}, err)
	}
	return nil
}

// InShellOf is for an error of a verb in the shell of an agent. Such a shell may be sandboxed, and
// then no folder helps: the hint names the tool that does the same, because the client runs the
// server of the tools outside of the sandbox.
func (f Failure) InShellOf(verb string, err error) Failure {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		f.Hint = "your shell may not write there, as in a sandbox: call c2c's tool " + cmp.Or(MeantBy(toolOf, verb), verb) + " instead of the command"
	}
	return f
}

// toolOf has a line for each tool that does what verbs of other names do.
const toolOf = `send reply
poll_inbox poll-inbox peek-inbox
look history thread status claims
room rooms
claim release
notify_when notify
me whoami register`

// example returns a part of a hint, with an example of the verb; "" if the verb has no example that
// works without changes.
func example(verb string) string {
	if v, _ := Find(verb); len(v.Examples) > 0 && !strings.Contains(v.Examples[0], " < ") {
		return "such as: " + fillHere(v.Examples[0]) + "; "
	}
	return ""
}

// Elsewhere is for an error that something was not found: an alias, or a message or the root, which
// have the alias "". If another project or a former root of this one has it, the hint says so.
func (f Failure) Elsewhere(err error, getenv func(string) string, cwd string) Failure {
	var unknown *sessions.UnknownAliasError
	alias := ""
	if errors.As(err, &unknown) {
		alias = unknown.Alias
	} else if !errors.Is(err, broker.ErrNoMessage) && !errors.As(err, new(noRoot)) {
		return f
	}
	if where := Elsewhere(getenv, cwd, alias); where != "" {
		f.Hint = where
	}
	return f
}

// noRoot is the error that there is no root. It matches fs.ErrNotExist.
type noRoot string

func (e noRoot) Error() string        { return string(e) }
func (e noRoot) Is(target error) bool { return target == fs.ErrNotExist }

// NeedRoot finds the root of the caller, and returns an error if it does not exist.
func NeedRoot(getenv func(string) string, cwd string) error {
	root, source, err := broker.RootFor(callers.Caller{Getenv: getenv}, cwd)
	if err != nil {
		return err
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening the root reports any other error
	}
	return NoRoot(&broker.NoRootError{Root: root, Source: source, Dir: cwd})
}

// NoRoot returns the error for people that a root does not exist: its name is mistyped, or no
// session has run there yet. The project may have former roots, which have been used. NoRoot
// returns any error but a *broker.NoRootError unchanged.
func NoRoot(err error) error {
	missing := new(broker.NoRootError)
	switch {
	case !errors.As(err, &missing):
		return err
	case missing.Source == "C2C_MCP_BROKER_ROOT":
		return WithHint(noRoot(fmt.Sprintf("%s names %q, which is not there", missing.Source, missing.Root)), "the first session makes it; if the path is mistyped, correct it")
	}
	return WithHint(noRoot(fmt.Sprintf("nobody has used this root of the project of %s yet: its mail would be in %s (from %s)", missing.Dir, missing.Root, missing.Source)), HowToBegin())
}

// HowToBegin tells a person what to type if their project has no session yet.
func HowToBegin() string {
	return "c2c start --alias amber " + Here() + " begins a session; c2c doctor shows problems"
}

// Report writes a failure for a person; each line begins with the name of the program. If args
// contain --json, it writes one line of JSON instead.
func Report(w io.Writer, f Failure, args []string) {
	if wantsJSON(args) {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.Encode(f) // nobody can be told of an error of Encode
		return
	}
	words := f.Message
	if f.Hint != "" {
		words += "\nhint: " + strings.ReplaceAll(f.Hint, "\n", "\nhint: ")
	}
	fmt.Fprintf(w, "c2c: %s\n", strings.ReplaceAll(words, "\n", "\nc2c: "))
}

// Warnings returns a function that prints warnings on w, each text once: many files may have the
// same problem.
func Warnings(w io.Writer) func(sentence string) {
	var said sync.Map
	return func(sentence string) {
		if _, again := said.LoadOrStore(sentence, true); !again {
			fmt.Fprintf(w, "c2c: %s\n", sentence)
		}
	}
}

// wantsJSON searches the arguments before they are parsed, because a mistake in the command line
// may stand before --json.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		value, given := strings.CutPrefix(arg, "--json=")
		on, err := strconv.ParseBool(value)
		return arg == "--json" || given && err == nil && on
	})
}
