// Package broker sends messages between the AI sessions of a project, answers and lists them, and finds out what became of each. A session
// is one conversation with an AI program, its client. A root is the directory with the mail of one project. To ring a session is to wake
// its client because mail waits; a ringer is a process that does this.
//
// Package sessions knows the sessions, package inbox keeps their mail on disk. The packages in this folder do what follows from
// mail: owed (answers that are due), deadlines (what to do when a time is over), loops (stops agents that only answer each other),
// resume (lets them go on), moves (mail that changes its mailbox), merge (all mail of another root), notice (c2c's own messages),
// notify (notices that a session asks for), explain (why a message is not read yet).
//
// A Broker may be used by any goroutine, and any number of processes may have the root open. Locks are taken in
// this order: the right to ring (wake.lock), registry, session, inbox, archive. The locks of dead-letter.jsonl and
// then broker.log come last.
package broker

import (
	"time"

	"c2c/broker/loops"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/sessions/processes"
)

// Config has the path of the root, the clock and the log.
type Config struct {
	Root   string
	Now    func() time.Time // nil is time.Now
	Log    inbox.Log        // nil discards
	Limits loops.Limits
	// Uninstalled reports whether c2c was uninstalled from a client while its process ran; nil: it never was.
	Uninstalled func(client string, pid int) bool
	// Hosts returns the names of the machines paired with this one; nil: there are none.
	Hosts func() ([]string, error)
	// WantRelay starts the relay if it does not run, because mail waits for another machine; nil: it is not started.
	WantRelay func() error
}

// ConfigOf returns a Config with the settings of the environment. It ignores invalid settings; c2c doctor reports them.
func ConfigOf(getenv func(string) string, root string, log inbox.Log) Config {
	gone := func(client string, pid int) bool { return processes.Uninstalled(getenv, client, pid) }
	return Config{Root: root, Log: log, Limits: loops.LimitsOf(getenv), Uninstalled: gone, Hosts: hostsOf(getenv, root), WantRelay: wantRelay}
}

// Broker is an open root.
type Broker struct {
	*sessions.Registry
	limits loops.Limits
	cfg    Config
}

// Open opens the root, and makes it if there is none.
func Open(cfg Config) (*Broker, error) {
	reg, err := sessions.Open(sessions.Config{Root: cfg.Root, Now: cfg.Now, Log: cfg.Log, Uninstalled: cfg.Uninstalled,
		Awaited: owed.Awaits, Held: loops.Holds})
	if err != nil {
		return nil, err
	}
	return &Broker{Registry: reg, limits: cfg.Limits.WithDefaults(), cfg: cfg}, nil
}
