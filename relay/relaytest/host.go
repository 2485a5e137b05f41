// Package relaytest helps tests of the relay and of its carriers. It has hosts with one root each,
// a suite that every carrier must pass, and a pipe that loses, repeats and reorders packets. No
// program imports it.
package relaytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay"
)

// Project is the project of each host, unless a test gives the host another project.
const Project = "p-1"

// Host is a machine with one root.
type Host struct {
	Name    string
	Project string
	Key     *relay.Key
	List    *relay.HostList
	Post    *Post
	Home    string // a directory with all files of the host
	Carrier relay.Carrier
	Way     func(peer string) relay.Way // see relay.Config
	Now     func() time.Time
	Relay   *relay.Relay // nil while the relay does not run

	tb    testing.TB
	state *atomicfile.Dir
	root  *atomicfile.Dir
	stop  func() error

	mu    sync.Mutex
	left  int    // how many steps until the kill; negative: no kill
	at    string // the name of the step at which the relay is killed
	dead  bool
	steps map[string]int // how often each step was reached

	stepped chan struct{} // holds a value if a step was reached since the last receive
}

// NewHost makes a host that is not paired yet.
func NewHost(tb testing.TB, name string) *Host {
	tb.Helper()
	h := &Host{Name: name, Project: Project, Home: filepath.Join(tb.TempDir(), name), tb: tb, Now: time.Now, left: -1, steps: map[string]int{}, stepped: make(chan struct{}, 1)}
	var err error
	if h.Key, err = relay.NewKey(); err != nil {
		tb.Fatal(err)
	}
	h.open()
	return h
}

func (h *Host) open() {
	h.tb.Helper()
	var err error
	if h.state, err = atomicfile.Create(filepath.Join(h.Home, "state")); err != nil {
		h.tb.Fatal(err)
	}
	if h.root, err = atomicfile.Create(filepath.Join(h.Home, "root")); err != nil {
		h.tb.Fatal(err)
	}
	h.List = relay.OpenHosts(h.state, h.Now)
	h.Post = &Post{dir: h.root, Aliases: []string{"birch", "cedar"}, Refusals: map[string]relay.Reason{}}
	h.tb.Cleanup(func() { h.Stop(); h.state.Close(); h.root.Close() })
}

// Copy makes a host from a copy of h's files. The copy stands for a backup, or for a home directory
// that was copied to a second machine.
func (h *Host) Copy() *Host {
	h.tb.Helper()
	home := filepath.Join(h.tb.TempDir(), h.Name)
	if err := os.CopyFS(home, os.DirFS(h.Home)); err != nil {
		h.tb.Fatal(err)
	}
	for _, dir := range []string{"state", "root"} { // CopyFS makes files that other users may read
		filepath.WalkDir(filepath.Join(home, dir), func(path string, d os.DirEntry, err error) error {
			if err == nil {
				mode := os.FileMode(0o600)
				if d.IsDir() {
					mode = 0o700
				}
				err = os.Chmod(path, mode)
			}
			return err
		})
	}
	twin := &Host{Name: h.Name, Project: h.Project, Home: home, Key: h.Key, Carrier: h.Carrier, tb: h.tb, Now: h.Now, left: -1, steps: map[string]int{}, stepped: make(chan struct{}, 1)}
	twin.open()
	twin.Post.Aliases = h.Post.Aliases
	return twin
}

// Pair pairs two hosts. Each may reach all aliases of the other.
func Pair(a, b *Host) {
	a.Add(b, relay.AnyName)
	b.Add(a, relay.AnyName)
}

// Add pairs h with another host, and lets that host reach some aliases of h.
func (h *Host) Add(other *Host, aliases ...string) {
	h.tb.Helper()
	err := h.List.Add(context.Background(), relay.Host{Name: other.Name, Carrier: relay.SSH, Projects: []string{h.Project}, Aliases: aliases, Key: other.Key.Public()})
	if err != nil {
		h.tb.Fatal(err)
	}
}

// Peers returns the hosts with which h is paired.
func (h *Host) Peers() relay.Peers { return relay.Peers{Key: h.Key, List: h.List} }

// Start starts the relay of the host, with its Carrier.
func (h *Host) Start() {
	h.tb.Helper()
	h.mu.Lock()
	h.dead = false
	h.mu.Unlock()
	r, err := relay.Open(relay.Config{Root: h.root, Project: h.Project, Peers: h.Peers(), Carrier: h.Carrier, Way: h.Way, Post: h.Post, Now: h.Now, Fault: h.fault})
	if err != nil {
		h.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var failed error
	running.Go(func() { failed = r.Run(ctx) })
	running.Go(func() { h.Carrier.Run(ctx, r) })
	h.Relay = r
	h.stop = func() error {
		cancel()
		running.Wait()
		return failed
	}
}

// Stop ends the relay. When Stop returns, the relay writes nothing more.
func (h *Host) Stop() {
	if h.stop == nil {
		return
	}
	if err := h.stop(); err != nil && !h.Killed() {
		h.tb.Errorf("relay of %s: %v", h.Name, err)
	}
	h.stop, h.Relay = nil, nil
}

var errKilled = errors.New("killed by the test")

// KillAfter kills the relay after this number of steps; see relay.Config.Fault.
func (h *Host) KillAfter(steps int) {
	h.mu.Lock()
	h.left = steps
	h.mu.Unlock()
}

// KillAt kills the relay when it reaches this step; see relay.Config.Fault.
func (h *Host) KillAt(step string) {
	h.mu.Lock()
	h.at = step
	h.mu.Unlock()
}

// Killed reports whether the relay was killed since Start.
func (h *Host) Killed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// Steps returns how often the relay has reached each step.
func (h *Host) Steps() map[string]int { return h.steps }

func (h *Host) fault(step string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps[step]++
	select {
	case h.stepped <- struct{}{}:
	default:
	}
	if h.left == 0 || h.at == step {
		h.dead, h.left, h.at = true, -1, ""
	}
	if h.left > 0 {
		h.left--
	}
	if h.dead {
		return errKilled
	}
	return nil
}

// Outbox returns the outbox for a peer.
func (h *Host) Outbox(peer string) *inbox.Mailbox {
	h.tb.Helper()
	box, err := inbox.Open(h.root, relay.Outbox(peer), inbox.Config{Now: h.Now})
	if err != nil {
		h.tb.Fatal(err)
	}
	return box
}

// Send puts messages into the outbox for a peer.
func (h *Host) Send(peer string, msgs ...mail.Message) {
	h.tb.Helper()
	for i := range msgs {
		msgs[i].To += "@" + peer
	}
	if _, err := h.Outbox(peer).Deliver(context.Background(), msgs...); err != nil {
		h.tb.Fatal(err)
	}
	if h.Relay != nil {
		h.Relay.Look(peer)
	}
}

// Drained reports whether no mail waits for a peer.
func (h *Host) Drained(peer string) bool {
	h.tb.Helper()
	used, err := h.Outbox(peer).Used()
	if err != nil {
		h.tb.Fatal(err)
	}
	return !used
}

// Root returns the directory of the host's project.
func (h *Host) Root() *atomicfile.Dir { return h.root }

// Post stores mail for a Host. If the relay delivers a message twice without mayRepeat, Post keeps
// it twice, so that a test sees the error.
type Post struct {
	Boxes   bool // whether Post keeps the mail in mailboxes, and not in plain files
	Aliases []string
	Full    func(alias, id string) bool // reports whether the alias has no room for a message; nil: never
	Fail    func(alias string) error    // if Fail returns an error, Deliver stores nothing; nil: no error

	dir      *atomicfile.Dir
	mu       sync.Mutex
	Refusals map[string]relay.Reason // by message id: the reasons that were given to senders of this host
}

func mailName(alias string) string { return "mail-" + strings.ToLower(alias) }

// Deliver implements relay.Post.
func (p *Post) Deliver(_ context.Context, peer, alias string, msgs []mail.Message, mayRepeat bool) (relay.Reason, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.Aliases, func(a string) bool { return strings.EqualFold(a, alias) }) {
		return relay.Unknown, nil
	}
	if p.Fail != nil {
		if err := p.Fail(alias); err != nil {
			return "", err
		}
	}
	if p.Boxes {
		return relay.Stored, p.intoBox(alias, msgs, mayRepeat)
	}
	there := map[string]bool{}
	if mayRepeat {
		stored, err := p.Mail(alias)
		if err != nil {
			return "", err
		}
		for _, m := range stored {
			there[m.FromSession+" "+m.ID] = true
		}
	}
	var lines []byte
	for _, m := range msgs {
		if there[m.FromSession+" "+m.ID] {
			continue
		}
		if p.Full != nil && p.Full(alias, m.ID) {
			return relay.Full, nil
		}
		line, err := m.MarshalJSON()
		if err != nil {
			return "", err
		}
		lines = append(append(lines, line...), '\n')
	}
	if len(lines) == 0 {
		return relay.Stored, nil
	}
	return relay.Stored, p.dir.AppendLines(mailName(alias), lines)
}

// Box returns the mailbox of an alias, which takes any number of messages.
func (p *Post) Box(alias string) (*inbox.Mailbox, error) {
	return inbox.Open(p.dir, strings.ToLower(alias), inbox.Config{Most: 1 << 30})
}

func (p *Post) intoBox(alias string, msgs []mail.Message, mayRepeat bool) error {
	box, err := p.Box(alias)
	switch {
	case err != nil:
	case mayRepeat:
		_, err = box.Deliver(context.Background(), msgs...)
	default:
		_, err = inbox.DeliverNew(context.Background(), box, msgs...)
	}
	return err
}

// Archive fills the archive of an alias with count messages of one sender.
func (p *Post) Archive(alias string, count int) error {
	box, err := p.Box(alias)
	for ; err == nil && count > 0; count -= 10_000 {
		msgs := make([]mail.Message, min(count, 10_000))
		for i := range msgs {
			msgs[i] = mail.Message{From: "old", FromSession: "s-old", To: alias, ID: fmt.Sprint("old-", count-i), Content: strings.Repeat("x", 170)}
		}
		var l *inbox.Lease
		if _, err = inbox.DeliverNew(context.Background(), box, msgs...); err == nil {
			l, err = box.Lease(context.Background(), "test", 1<<40)
		}
		if err == nil {
			err = l.Ack(context.Background(), inbox.Handles(l.Messages)...)
		}
	}
	return err
}

// Mail returns the stored messages of an alias, in order. If Boxes is set, it returns only the
// messages that wait.
func (p *Post) Mail(alias string) (msgs []mail.Message, err error) {
	if p.Boxes {
		box, err := p.Box(alias)
		if err != nil {
			return nil, err
		}
		return box.PeekAll(context.Background())
	}
	data, err := p.dir.ReadIf(mailName(alias))
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1] // the last line may be incomplete
	for line := range strings.Lines(string(data)) {
		var m mail.Message
		if err := m.UnmarshalJSON([]byte(line)); err != nil {
			return nil, fmt.Errorf("mail of %s: %w", alias, err)
		}
		msgs = append(msgs, m)
	}
	return msgs, nil
}

// Refused implements relay.Post.
func (p *Post) Refused(_ context.Context, _ string, msg mail.Message, why relay.Reason) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Refusals[msg.ID] = why
	return nil
}

// WasRefused returns the reason why a message of this host was refused; "" if its sender was not
// notified.
func (p *Post) WasRefused(id string) relay.Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Refusals[id]
}
