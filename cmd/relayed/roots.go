package relayed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/relay"
	"c2c/relay/hosts"
	"c2c/sessions"
	"c2c/sessions/registry"
)

// roots are those in which mail of other machines is sent or stored. It hands what a carrier brings to them.
type roots struct {
	h     *Host
	relay relay.Switch

	mu   sync.Mutex
	open map[string]*root // by the name of the project
	told map[string]bool  // projects that are not here, of which the log has told
}

// root is one that is open.
type root struct {
	path    string
	b       *broker.Broker
	relay   *relay.Relay
	stop    func()
	files   map[string]string // that are watched, by name
	arrived *followed
	said    string // what the other hosts were last told of its sessions
}

// Packet is for a carrier. A root is opened when the first packet for its project comes.
func (r *roots) Packet(ctx context.Context, packet []byte) error {
	err := r.relay.Packet(ctx, packet)
	if !errors.Is(err, relay.ErrNoProject) {
		return err
	}
	name, _, err := relay.Address(packet)
	if err != nil {
		return nil
	}
	for _, here := range r.h.rootsHere() {
		if here.Name == name && isThere(here.Path) {
			if _, err := r.get(ctx, here); err != nil {
				return err
			}
			return r.relay.Packet(ctx, packet)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil || len(r.told) > 1000 {
		r.told = map[string]bool{}
	}
	if !r.told[name] {
		r.told[name] = true
		return fmt.Errorf("mail for project %q: no session of this host has worked in it: c2c relay project gives one a name", name)
	}
	return nil
}

// Link is for a carrier.
func (r *roots) Link(peer string, up bool) { r.relay.Link(peer, up) }

// look opens the roots in which mail waits for a host, has all that are open look at their outboxes, and gives the files that tell
// of a change.
func (r *roots) look(ctx context.Context, list []hosts.Host) (files []string) {
	for _, here := range r.h.rootsHere() {
		open := r.at(here.Name)
		for _, host := range list {
			if host.Revoked != 0 {
				continue
			}
			waits := mailWaits(here.Path, relay.Outbox(host.Name))
			if open == nil && !waits {
				continue
			}
			if open == nil {
				var err error
				if open, err = r.get(ctx, here); err != nil {
					r.h.Log.Error("a root is not relayed", "root", here.Path, "err", err)
					break
				}
			}
			files = open.watched(files, relay.Outbox(host.Name)+".inbox.lock")
			if waits {
				open.relay.Look(host.Name)
			}
		}
		if open != nil {
			r.announce(ctx, open)
			files = append(open.watched(files, registry.LockName), open.report(ctx)...)
		}
	}
	return files
}

// watched adds a lock file, and makes it the first time: to do that again would look like a change of it.
func (o *root) watched(files []string, name string) []string {
	path, ok := o.files[name]
	if !ok {
		var err error
		if path, err = o.b.Locks.Watchable(name); err != nil {
			return files // c2c relay looks once a minute all the same
		}
		o.files[name] = path
	}
	return append(files, path)
}

// report tells other hosts what became of their messages, and gives the files that tell of more.
func (o *root) report(ctx context.Context) (files []string) {
	news, sids := o.arrived.look(ctx)
	for peer, states := range news {
		o.relay.Report(peer, states)
	}
	for _, sid := range sids {
		files = o.watched(files, sid+".inbox.lock")
		if turns := filepath.Join(o.path, "sessions", sid+".lock"); isThere(turns) {
			files = append(files, turns)
		}
	}
	return files
}

// mailWaits says whether a mailbox has mail, or had some until a moment ago.
func mailWaits(root, sid string) bool {
	if info, err := os.Stat(filepath.Join(root, sid+".inbox.json")); err == nil && info.Size() > int64(len("[]\n")) {
		return true
	}
	older, err := os.ReadDir(filepath.Join(root, sid+".lease"))
	return err == nil && len(older) > 0
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (r *roots) at(name string) *root {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[name]
}

// get opens a root, and begins to relay for it.
func (r *roots) get(ctx context.Context, here project.Root) (*root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open := r.open[here.Name]; open != nil {
		return open, nil
	}
	b, err := broker.Open(broker.ConfigOf(r.h.Getenv, here.Path, r.h.Log))
	if err != nil {
		return nil, err
	}
	arrived := &followed{b: b, marks: map[string]string{}}
	one, err := relay.Open(relay.Config{Root: b.Dir(), Project: here.Name, Peers: r.h.peers, Carrier: r.h.carrier, Post: &post{b, r.h, arrived}, Log: r.h.Log, Now: r.h.Now})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := one.Run(ctx); err != nil {
			r.h.Log.Error("the relay of a root ended", "root", here.Path, "err", err)
		}
	}()
	open := &root{files: map[string]string{}, path: here.Path, b: b, relay: one, arrived: arrived, stop: func() { cancel(); <-ended; b.Close() }}
	r.open[here.Name] = open
	r.h.Log.Info("relays for a root", "root", here.Path, "project", here.Name)
	return open, r.relay.Add(one)
}

// closeAll ends all, and gives back what was leased.
func (r *roots) closeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.open {
		r.relay.Remove(one.relay)
		one.stop()
	}
	clear(r.open)
}

// post is the local end of the relay of one root.
type post struct {
	b       *broker.Broker
	h       *Host
	arrived *followed
}

// Deliver is that of relay.Post. The ids of messages keep those out that are stored already.
func (p *post) Deliver(ctx context.Context, peer, alias string, msgs []mail.Message, _ bool) (relay.Reason, error) {
	sid, err := p.b.Receive(ctx, alias, msgs)
	switch {
	case err == nil:
		p.arrived.add(peer, sid, msgs)
		p.h.changes.Recheck() // so that its mailbox is watched
	case errors.As(err, new(*sessions.UnknownAliasError)):
		return relay.Unknown, nil
	case errors.Is(err, inbox.ErrFull):
		return relay.Full, nil
	case errors.As(err, new(*inbox.IDTakenError)):
		return relay.Taken, nil
	}
	return relay.Stored, err
}

// whyRefused says it to a sender.
var whyRefused = map[relay.Reason]string{
	relay.Unknown:   "no session there has this alias",
	relay.Forbidden: "that host does not let this one write to it; its person may allow that with c2c relay allow",
	relay.Full:      "its mailbox is full",
	relay.Invalid:   "no mailbox there can keep it",
	relay.Taken:     "another message with this id is there",
	relay.Expired:   "it had expired when it arrived",
	relay.NoProject: "that host has no such project",
}

// Refused is that of relay.Post.
func (p *post) Refused(ctx context.Context, peer string, m mail.Message, why relay.Reason) error {
	if !strings.Contains(m.To, "@") {
		m.To += "@" + peer
	}
	text, ok := whyRefused[why]
	if !ok {
		text = string(why)
	}
	err := p.b.TellRefused(ctx, m, text)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, inbox.ErrFull) { // its sender is gone, or reads nothing: the others go on
		p.h.Log.Warn("a sender is not told that its message was refused", "message_id", m.ID, "err", err)
		return nil
	}
	return err
}
