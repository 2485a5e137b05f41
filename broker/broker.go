// Package broker knows who is who: the root, the sessions and their aliases, whether their client
// lives, where a message to an alias goes, and what became of it.
//
// On disk, under the root: registry.json, shared with the original c2c and holding only its fields;
// sessions/<sid>.json, our own facts about a session; sessions/ids/<client>.<id>, which session a
// client's own id belongs to; dead-letter.jsonl; broker.log. The mail itself is package inbox's.
//
// A Broker may be used by any goroutine, and any number of processes may have the root open. Locks are taken in
// this order: the right to ring (wake.lock), registry, session, inbox, archive. The locks of dead-letter.jsonl and
// then broker.log come last.
package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Conditions a caller may test for with errors.Is.
var (
	// ErrNoSession: the caller has no session, or none that is registered.
	ErrNoSession = errors.New("no session")
	// ErrNoCaller is ErrNoSession for a caller whom nothing names.
	ErrNoCaller error = noCaller{}
	// ErrAmbiguous: several sessions live in the caller's client process.
	ErrAmbiguous = errors.New("more than one session in this process")
	// ErrSelfSend: the receiver is the sender.
	ErrSelfSend = errors.New("cannot send a message to yourself")
	// ErrRegistryFull: the registry would pass the size above which the original reads it as empty.
	ErrRegistryFull = errors.New("registry is full")
)

// Config says where the root is and whose clock and log to use.
type Config struct {
	Root  string
	Now   func() time.Time // nil is time.Now
	Log   inbox.Log        // nil discards
	Storm StormLimits
	Times ObligationTimes
	// Uninstalled says whether c2c was taken out of a client while its process ran; nil: it never was.
	Uninstalled func(client string, pid int) bool
}

// ConfigOf is a Config with what the environment sets. c2c doctor tells what is wrong there.
func ConfigOf(getenv func(string) string, root string, log inbox.Log) Config {
	times, _ := ObligationTimesOf(getenv)
	gone := func(client string, pid int) bool { return Uninstalled(getenv, client, pid) }
	return Config{Root: root, Log: log, Storm: StormLimitsOf(getenv), Times: times, Uninstalled: gone}
}

// Broker is an open root.
type Broker struct {
	root  *atomicfile.Dir
	now   func() time.Time
	log   inbox.Log
	mail  inbox.Config
	storm StormLimits
	times ObligationTimes

	uninstalled func(client string, pid int) bool
	proc        processes
	read        map[string]facts // what a glance has read; nil: facts are read anew each time
	locks       map[string]bool  // which locks it has looked at, likewise
	brief       bool             // a glance at whose session it is: no lock is looked at to tell whether a client lives

	lastRows    *lastRows
	lastAuthors *lastAuthors
}

// Open opens the root, and makes it when there is none.
func Open(cfg Config) (*Broker, error) {
	root, err := atomicfile.Create(cfg.Root)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	b := &Broker{root: root, now: cfg.Now, log: cfg.Log, storm: cfg.Storm.withDefaults(), times: cfg.Times.withDefaults(), proc: new(system),
		uninstalled: cfg.Uninstalled, lastRows: new(lastRows), lastAuthors: new(lastAuthors)}
	if b.now == nil {
		b.now = time.Now
	}
	if b.log == nil {
		b.log = inbox.NoLog
	}
	b.mail = inbox.Config{Now: b.now, Log: mailLog{b}}
	return b, nil
}

// Close closes the root. Mailboxes that were opened through it must not be used afterwards.
func (b *Broker) Close() error { return b.root.Close() }

// Root is the path of the root.
func (b *Broker) Root() string { return b.root.Path() }

// Replaced says whether the root was removed or made anew since it was opened. What such a broker writes is lost.
func (b *Broker) Replaced() bool { return b.root.Replaced() }

// Dir is the open root, for the packages that keep files of their own beneath it.
func (b *Broker) Dir() *atomicfile.Dir { return b.root }

// Watchable makes a lock file of the root, if it is not there, and gives its path for a file watcher.
func (b *Broker) Watchable(lock string) (path string, err error) {
	f, err := b.root.Open(lock, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return "", err
	}
	return filepath.Join(b.Root(), lock), f.Close()
}

// Mailbox opens the mail of a session.
func (b *Broker) Mailbox(sid string) (*inbox.Mailbox, error) {
	cfg := b.mail
	cfg.Awaited = func(m inbox.Message) bool { return b.awaits(sid, m) }
	cfg.Held = func(m inbox.Message) bool { return b.held(sid, m) }
	return inbox.Open(b.root, sid, cfg)
}

// locked runs f under a lock file of the root.
func (b *Broker) locked(ctx context.Context, name string, f func() error) error {
	return filelock.With(ctx, b.root, name, f)
}

type noCaller struct{}

func (noCaller) Error() string { return "find out who is calling: no session" }

func (noCaller) Unwrap() error { return ErrNoSession }
