package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Config has the path of the root, the clock and the log.
type Config struct {
	Root string
	Now  func() time.Time // nil: time.Now
	Log  inbox.Log        // nil: nothing is logged
	// Uninstalled reports whether c2c was uninstalled from a client while its process ran; nil: it
	// never was.
	Uninstalled func(client string, pid int) bool
}

// Registry is an open root: its sessions, and the facts about each.
type Registry struct {
	Now         func() time.Time
	Log         inbox.Log
	Uninstalled func(client string, pid int) bool // nil: never
	Getenv      func(string) string               // nil: do not look for files of clients
	Processes   ProcessTable
	Mail        inbox.Config // the configuration of its mailboxes

	*RegistryFile
	Facts  *FactStore
	Events *EventLog
	Locks  *Locks
	Due    *DueFile

	root *atomicfile.Dir

	Brief  bool                               // only identify sessions: do not test locks to find out whether a client lives
	Paired func() (hosts []string, err error) // the machines that are paired with this one; nil: not known
}

// Open opens the root, and makes it if there is none.
func Open(cfg Config) (*Registry, error) {
	root, err := atomicfile.Create(cfg.Root)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	reg := &Registry{root: root, Now: cfg.Now, Log: cfg.Log, Uninstalled: cfg.Uninstalled,
		Processes: new(SystemProcesses)}
	if reg.Now == nil {
		reg.Now = time.Now
	}
	if reg.Log == nil {
		reg.Log = inbox.NoLog
	}
	reg.Events = &EventLog{root, reg.Now, reg.Log}
	reg.Facts = &FactStore{root: root, now: reg.Now, log: reg.Log}
	reg.Locks, reg.Due = &Locks{root: root}, &DueFile{root, reg.Now, reg.Log}
	reg.RegistryFile = &RegistryFile{root: root, now: reg.Now, log: reg.Log, events: reg.Events}
	reg.Mail = inbox.Config{Now: reg.Now, Log: mailLog{reg.Log, reg.Events}}
	return reg, nil
}

// Errors that callers may test for with errors.Is.
var (
	// ErrNoSession: the caller has no session, or none that is registered.
	ErrNoSession = errors.New("no session")
	// ErrNoCaller wraps ErrNoSession: nothing identifies the caller.
	ErrNoCaller = fmt.Errorf("find out who is calling: %w", ErrNoSession)
	// ErrAmbiguous: several sessions live in the caller's client process.
	ErrAmbiguous = errors.New("more than one session in this process")
	// ErrSelfSend: the receiver is the sender.
	ErrSelfSend = errors.New("cannot send a message to yourself")
	// ErrDamaged: a file is damaged, or is not a private file of ours.
	ErrDamaged = errors.New("damaged")
)

// NoPersonError is an ErrNoCaller: the caller has a terminal, but is no person. Why says how c2c
// knows that.
type NoPersonError struct{ Why string }

func (e *NoPersonError) Error() string { return ErrNoCaller.Error() + ": " + e.Why }
func (e *NoPersonError) Unwrap() error { return ErrNoCaller }

// InShellOf is the NoPersonError of a command in the shell of an agent. The alias may be "".
func InShellOf(alias string) *NoPersonError {
	return &NoPersonError{"this is the shell of " + cmp.Or(alias, "an agent")}
}

// WhyNoPerson completes the error "only a person ..., and" for a caller that has ErrNoCaller.
func WhyNoPerson(err error) string {
	if no := new(NoPersonError); errors.As(err, &no) {
		return no.Why
	}
	return "this shell has no terminal"
}

// Close closes the root. Mailboxes that were opened through it must not be used afterwards.
func (reg *Registry) Close() error { return reg.root.Close() }

// Root is the path of the root.
func (reg *Registry) Root() string { return reg.root.Path() }

// Replaced reports whether the root was removed or replaced since it was opened. Then all writes to
// it are lost.
func (reg *Registry) Replaced() bool {
	yes, err := reg.root.Replaced()
	return yes || err != nil // the caller opens the root again, and gets the error from there
}

// Dir is the open root, for the packages that keep files of their own beneath it.
func (reg *Registry) Dir() *atomicfile.Dir { return reg.root }

// Mailbox opens the mail of a session.
func (reg *Registry) Mailbox(sid string) (*inbox.Mailbox, error) {
	cfg := reg.Mail
	cfg.Awaited = func(m mail.Message) bool { return awaits(reg, sid, m) }
	cfg.Held = func(m mail.Message) bool { return IsHeld(reg, sid, m) }
	return inbox.Open(reg.root, sid, cfg)
}

// Glance returns a copy of reg that answers one question. The copy reads each file of facts once,
// and checks each process and each lock once, so it does not see later changes. Callers must not
// keep it, and must not change anything through it.
func (reg *Registry) Glance() *Registry {
	g := *reg
	g.Locks, g.Facts, g.Processes = reg.Locks.Glance(), reg.Facts.Glance(), FindOnce(reg.Processes)
	return &g
}
