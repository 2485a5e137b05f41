// Package broker is for mail between the AI sessions of a project: it sends and answers messages,
// lists them, and reports their states. A session is one conversation with an AI program, which is
// called its client. A root is the directory with the mail of one project. To ring a session means
// to wake its client when mail waits; a ringer is a process that rings.
//
// Package sessions has the list of the sessions, and package inbox keeps their mail on disk. Of the
// packages in this folder, owed knows what is owed, how that ends and whom c2c tells; it stops
// agents that only answer each other; moves moves mail to another mailbox.
//
// Some more words: The facts of a session are a file for what its row in registry.json cannot hold
// (sessions/facts.go). A sweep ("c2c sweep") removes sessions that nobody uses and of whose
// client c2c sees no process. A host is another machine, and the relay is the process that carries
// mail to hosts. The OCaml c2c is the program before this one.
//
// Any number of goroutines may use one Broker, and any number of processes may open one root. Locks
// are taken in this order: the right to ring (<session>.wake.lock), registry, session, inbox,
// archive, dead-letter.jsonl, broker.log.
package broker

import (
	"fmt"
	"os"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/sessions"
)

// Config has the settings of a Broker.
type Config struct {
	Root string
	Now  func() time.Time // nil: time.Now
	Log  inbox.Log        // nil: nothing is logged
	Hops int              // how often agents may answer each other without any work; 0: 50; negative: no limit
	// Existing makes OpenHere and OpenFor return a *NoRootError instead of making a root.
	Existing bool
	// Processes finds the processes of clients; nil: in the system.
	Processes sessions.ProcessTable
	// Uninstalled reports whether c2c was uninstalled from a client while the client's process pid
	// ran. Nil: it never was.
	Uninstalled func(client string, pid int) bool
	Getenv      func(string) string      // to find the files of clients; nil: c2c does not look for them
	Hosts       func() ([]string, error) // the names of the machines that are paired with this one; nil: no machine is
	// WantRelay starts the relay if it does not run. A Broker calls it when mail waits for another
	// machine. Nil: nothing starts the relay.
	WantRelay func() error
}

// ConfigOf returns a Config with the settings from environment variables. It ignores invalid
// settings; "c2c doctor" reports them.
func ConfigOf(getenv func(string) string, root string, log inbox.Log) Config {
	gone := func(client string, pid int) bool { return sessions.Uninstalled(getenv, client, pid) }
	return Config{Root: root, Log: log, Hops: owed.LimitOf(getenv, owed.HopsVariable), Uninstalled: gone, Getenv: getenv, Hosts: hostsOf(getenv, root), WantRelay: wantDaemon}
}

// Broker is an open root.
type Broker struct {
	*sessions.Registry
	// Split: OpenFor found the root by a directory in a clone that a person has split from the other
	// clones of its remote.
	Split bool
	cfg   Config
}

// Open opens the root, and makes it if it is missing.
func Open(cfg Config) (*Broker, error) {
	reg, err := sessions.Open(sessions.Config{Root: cfg.Root, Now: cfg.Now, Log: cfg.Log, Uninstalled: cfg.Uninstalled})
	if err != nil {
		return nil, err
	}
	reg.Paired, reg.Getenv = cfg.Hosts, cfg.Getenv
	if cfg.Processes != nil {
		reg.Processes = cfg.Processes
	}
	return &Broker{Registry: reg, cfg: cfg}, nil
}

// OpenThere opens a root with the Config of ConfigOf. It returns an error if the root is gone, and
// makes none.
func OpenThere(getenv func(string) string, root string, log inbox.Log) (*Broker, error) {
	if _, err := os.Stat(root); err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	return Open(ConfigOf(getenv, root, log))
}
