package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/internal/proc"
	"c2c/project"
	"c2c/relay/cache"
	"c2c/sessions"
)

// A message to birch@devbox is first stored in the outbox for devbox. The outbox is the mailbox
// host-devbox of this root. The relay carries the message to devbox.

// UnknownHostError says that no machine with the name Host is paired with this one.
type UnknownHostError struct {
	Host    string
	Paired  []string
	Project bool // a project has this name
}

func (e *UnknownHostError) Error() string {
	if e.Project {
		return fmt.Sprintf("%s is a project, and no machine: a room is in one project", e.Host)
	}
	if len(e.Paired) == 0 {
		return fmt.Sprintf("no host %q, and no project of this name: no machine is paired with this one, or all are revoked", e.Host)
	}
	return fmt.Sprintf("no host %q is paired with this machine, only %s; and no project has this name", e.Host, strings.Join(e.Paired, ", "))
}

// ErrNoProjectName says that other machines cannot know to which project a root belongs.
var ErrNoProjectName = errors.New("this project has no remote, or was split from its other clones, so other machines do not know it")

// ErrRelayStopped says that a person has stopped the relay. Therefore c2c does not start it.
var ErrRelayStopped = errors.New("the relay was stopped")

// "c2cd daemon want" prints SaysStopped if a person has stopped the relay.
const SaysStopped = "stopped\n"

// WantTime is how long "c2cd daemon want" waits for a daemon that starts: less than its caller
// waits.
const WantTime = proc.MaxTime - time.Second

// hostsOf makes Config.Hosts: a function that reads the names of the paired machines from the list
// of package relay. If other machines do not know the root's project by name, the function also
// returns ErrNoProjectName.
func hostsOf(getenv func(string) string, root string) func() ([]string, error) {
	return func() ([]string, error) {
		state, _ := project.StateDir(getenv)
		if state == "" {
			return nil, nil
		}
		names, roots, err := cache.PairedNames(state)
		isNamed := func(r project.Root) bool { return r.Path == root && r.Name != "" }
		if err == nil && len(names) > 0 && !slices.Contains(roots, root) {
			var all []project.Root
			if all, err = project.RootsIn(state); err == nil && !slices.ContainsFunc(all, isNamed) {
				err = ErrNoProjectName
			}
		}
		return names, err
	}
}

// wantDaemon runs the program c2cd, which is beside this program. If the daemon does not run, c2cd
// starts it with the parts that are on. If a machine is paired, the relay is one of them, unless a
// person has stopped it.
func wantDaemon() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	said, err := proc.Run(filepath.Join(filepath.Dir(self), "c2cd"), "/", nil, "daemon", "want")
	if err == nil && said == SaysStopped {
		return ErrRelayStopped
	}
	return err
}

// checkHost returns an error if sid is an outbox that no relay would ever empty.
func (cfg Config) checkHost(sid string) error {
	host, ok := strings.CutPrefix(sid, sessions.HostPrefix)
	if !ok {
		return nil
	}
	if id, is := sessions.ProjectOf(sid); is {
		_, err := otherRoot(cfg.Root, id)
		return err
	}
	var paired []string
	if cfg.Hosts != nil {
		var err error
		if paired, err = cfg.Hosts(); err != nil {
			return err
		}
	}
	if !slices.Contains(paired, host) {
		return &UnknownHostError{host, paired, len(projectsCalled(cfg.Root, host)) > 0}
	}
	return nil
}

// CheckHost returns an error if no machine with this name is paired with this one, or if other
// machines do not know the project.
func CheckHost(b *Broker, host string) error { return b.cfg.checkHost(sessions.HostPrefix + host) }

// StartDaemon starts the daemon if a part of it is on; otherwise it does the same as StartRelay. A
// process that checks the deadlines of a root calls it now and then, so that the daemon runs after
// a kill, or a boot of this machine.
func StartDaemon(b *Broker) error {
	if b.cfg.WantRelay == nil {
		return nil
	}
	state, _ := project.StateDir(b.cfg.Getenv)
	if _, err := os.Stat(filepath.Join(state, "daemon", "parts.json")); err != nil { // it is there if a part is on
		return StartRelay(b)
	}
	return b.cfg.WantRelay()
}

// StartRelay starts the relay if a machine is paired and no relay runs for this root. Call it after
// a post to members on other machines, and when a command checks the deadlines of the root: so the
// relay also runs after a boot of this machine, although nobody sends. Errors: ErrRelayStopped.
func StartRelay(b *Broker) error {
	names, err := b.cfg.paired()
	if err != nil || len(names) == 0 || b.cfg.WantRelay == nil {
		return err
	}
	if runs, err := cache.IsRelayed(b.Dir()); err != nil || runs {
		return err
	}
	return b.cfg.WantRelay()
}

// wantRelay notes in the receipt whether the message can get to its machine now, and starts the
// relay if none runs for this root. If the relay cannot be started, the message waits all the same.
func (b *Broker) wantRelay(r *Receipt) {
	_, r.Host, _ = strings.Cut(r.To, "@")
	host, err := cache.HeardFrom(b.Dir(), r.Host)
	if err != nil {
		b.Log.Warn("facts about a host cannot be read", "host", r.Host, "err", err)
	}
	if !r.Held {
		r.Note = HostSentence(host, b.Now())
		switch {
		case host.Absent:
			r.Note += "; the message waits until somebody does"
		case !host.Linked:
			r.Note += "; the message waits until it is there"
		}
	}
	if also := projectsCalled(b.Root(), r.Host); len(also) > 0 {
		r.Note += fmt.Sprintf("; %s is that machine here; the project of this name is %s@%s", r.Host, aliasIn(r.To), project.ID(also[0].Root))
	}
	if host.Relayed || b.cfg.WantRelay == nil {
		return
	}
	if err := b.cfg.WantRelay(); errors.Is(err, ErrRelayStopped) {
		r.Note = err.Error() + ", so it waits until you run c2c relay start"
	} else if err != nil {
		r.Note = "the relay is not started, so it waits: c2c relay status says why"
		b.Log.Warn("the relay is not started", "err", err)
	}
}

// Host is another machine, as a list shows it.
type Host struct {
	cache.HeardHost
	Waiting int       `json:"waiting_count,omitempty"` // number of messages that are not stored there yet
	Oldest  time.Time `json:"oldest_at,omitzero"`
	Error   string    `json:"error,omitempty"` // why its outbox or its last report cannot be read
}

// Hosts returns the paired machines, with what this root knows about each of them and how many
// messages wait for it.
func (b *Broker) Hosts() (all []Host, err error) {
	names, err := b.cfg.paired()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	boxes, err := b.Backlogs()
	if err != nil {
		return nil, err
	}
	defer boxes.Close()
	for _, name := range names {
		one := Host{}
		one.HeardHost, err = cache.HeardFrom(b.Dir(), name)
		one.Name = name
		waits, werr := boxes.OfOutbox(sessions.HostPrefix + name)
		if err = errors.Join(err, werr); err != nil {
			one.Error = err.Error()
		}
		one.Waiting, one.Oldest = waits.Count, waits.Oldest
		all = append(all, one)
	}
	return all, nil
}

// paired returns the names of the paired machines, even if these do not know this project.
func (cfg Config) paired() (names []string, err error) {
	if cfg.Hosts != nil {
		if names, err = cfg.Hosts(); errors.Is(err, ErrNoProjectName) {
			err = nil
		}
	}
	return names, err
}

// RemoteSessions returns the sessions of the machines that are linked now, as a list shows them.
// Their states come from the last report of their machine. If the machine is behind a hub, their
// states are unknown, because the hub is there even if the machine is off. If no machine is paired,
// RemoteSessions reads nothing of the root.
func (b *Broker) RemoteSessions() (all []sessions.Listed, err error) {
	names, err := b.cfg.paired()
	for _, name := range names {
		h, herr := cache.HeardFrom(b.Dir(), name)
		if err = errors.Join(err, herr); !h.Linked {
			continue
		}
		for _, s := range h.Sessions {
			does := sessions.State(s.State)
			if h.Hub {
				does = sessions.Unknown
			}
			all = append(all, sessions.Listed{Alias: s.Alias + "@" + h.Name, Client: s.Client, State: sessions.Remote, Now: sessions.Now{Does: does}})
		}
	}
	return all, err
}
