package relayed

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
	"c2c/project"
	"c2c/relay"
	"c2c/relay/hosts"
	"c2c/sessions"
	"c2c/sessions/registry"
)

// roots holds the open roots, which exchange mail with other machines. It passes a carrier's packets to them.
type roots struct {
	h     *Host
	relay relay.Switch

	opening sync.Mutex // held while a root is opened

	mu   sync.Mutex
	open map[string]*root // by the name of the project
}

// root is an open root.
type root struct {
	name, path string
	absent     bool           // this host does not have the project, and refuses its mail
	b          *broker.Broker // nil for an absent one
	close      func() error
	relay      *relay.Relay
	stop       func()
	files      map[string]string // watched files, by name
	arrived    *followed
	said       string    // the last announced sessions
	looked     time.Time // when the sessions were last listed
	mark       string    // the state of the files at that time
}

// Packet implements relay.Handler. It opens a root at the first packet for the root's project.
func (r *roots) Packet(ctx context.Context, packet []byte) error {
	name, kind, err := relay.Address(packet)
	if err != nil {
		return nil
	}
	if open := r.at(name); open != nil && !open.absent {
		return r.relay.Packet(ctx, packet)
	}
	i := -1
	all := r.h.rootsHere()
	if i = slices.IndexFunc(all, func(here project.Root) bool { return here.Name == name && isThere(here.Path) }); i >= 0 {
		_, err = r.get(ctx, all[i])
	} else if kind == relay.Frame {
		err = r.absent(name)
	}
	if err != nil {
		return err
	}
	return r.relay.Packet(ctx, packet)
}

// Link implements relay.Handler.
func (r *roots) Link(peer string, up bool) { r.relay.Link(peer, up) }

// look opens the roots in which mail waits for a host, makes the relay look at the outboxes of all open roots, and gives the files
// to watch for changes.
func (r *roots) look(ctx context.Context, list []hosts.Host) (files []string) {
	for _, here := range r.h.rootsHere() {
		open := r.at(here.Name)
		if open != nil && open.absent {
			open = nil
		}
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

// watched adds a lock file to files, and makes it the first time only: making it again would look like a change.
func (o *root) watched(files []string, name string) []string {
	path, ok := o.files[name]
	if !ok {
		var err error
		if path, err = o.b.Locks.Watchable(name); err != nil {
			return files // c2c relay also looks once a minute
		}
		o.files[name] = path
	}
	return append(files, path)
}

// report sends other hosts the states of their messages, and gives the files to watch for more.
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

// mailWaits reports whether a mailbox has mail, or had some until a moment ago.
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

// get gives an open root. If necessary, it opens the root and begins to relay for it.
func (r *roots) get(ctx context.Context, here project.Root) (*root, error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	open := r.at(here.Name)
	if open != nil && !open.absent {
		return open, nil
	}
	if err := r.present(here); err != nil {
		return nil, err
	}
	b, err := broker.Open(broker.ConfigOf(r.h.Getenv, here.Path, r.h.Log))
	if err != nil {
		return nil, err
	}
	arrived := &followed{b: b, marks: map[string]string{}}
	open = &root{name: here.Name, path: here.Path, b: b, close: b.Close, arrived: arrived, files: map[string]string{}}
	r.h.Log.Info("relays for a root", "root", here.Path, "project", here.Name)
	return open, r.begin(open, b.Dir(), &post{b, r.h, arrived})
}

// begin relays for a root until end.
func (r *roots) begin(open *root, dir *atomicfile.Dir, local relay.Post) error {
	one, err := relay.Open(relay.Config{Root: dir, Project: open.name, Peers: r.h.peers, Carrier: r.h.carrier, Post: local, Log: r.h.Log, Now: r.h.Now})
	if err != nil {
		return errors.Join(err, open.close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := one.Run(ctx); err != nil {
			r.h.Log.Error("the relay of a root ended", "root", open.path, "err", err)
		}
	}()
	open.relay, open.stop = one, func() { cancel(); <-ended; open.close() }
	r.mu.Lock()
	r.open[open.name] = open
	r.mu.Unlock()
	return r.relay.Add(one)
}

// end undoes begin.
func (r *roots) end(name string) {
	r.mu.Lock()
	open := r.open[name]
	delete(r.open, name)
	r.mu.Unlock()
	if open != nil {
		r.relay.Remove(open.relay)
		open.stop()
	}
}

// closeAll ends the relays of all roots, which release their leases.
func (r *roots) closeAll() {
	r.mu.Lock()
	names := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	for _, name := range names {
		r.end(name)
	}
}

// post is the local end of the relay of one root.
type post struct {
	b       *broker.Broker
	h       *Host
	arrived *followed
}

// Deliver implements relay.Post. The mailbox recognizes stored messages by their ids.
func (p *post) Deliver(ctx context.Context, peer, alias string, msgs []mail.Message, mayRepeat bool) (relay.Reason, error) {
	sid, err := broker.Receive(ctx, p.b, alias, msgs, mayRepeat)
	switch {
	case err == nil:
		p.arrived.add(peer, sid, msgs)
		p.h.changes.Recheck() // watch its mailbox, too
	case errors.As(err, new(*sessions.UnknownAliasError)):
		return relay.Unknown, nil
	case errors.Is(err, inbox.ErrFull):
		return relay.Full, nil
	case errors.As(err, new(*inbox.IDTakenError)):
		return relay.Taken, nil
	case errors.Is(err, broker.ErrBlocked):
		p.h.Log.Error("mail of another host is refused", "host", peer, "alias", alias, "err", err)
		return relay.Blocked, nil
	}
	return relay.Stored, err
}

// whyRefused explains a reason to a sender.
var whyRefused = map[relay.Reason]string{
	relay.Unknown:   "no session there has this alias",
	relay.Forbidden: "that host does not let this one write to it; its person may allow that with c2c relay allow",
	relay.Full:      "its mailbox is full",
	relay.Invalid:   "no mailbox there can keep it",
	relay.Taken:     "another message with this id is there",
	relay.Expired:   "it had expired when it arrived",
	relay.Blocked:   "something on that host stands in the place of its mailbox's files",
	relay.NoProject: "nobody has used c2c in this project there yet, or it has another remote there",
}

// Refused implements relay.Post.
func (p *post) Refused(ctx context.Context, peer string, m mail.Message, why relay.Reason) error {
	if !strings.Contains(m.To, "@") {
		m.To += "@" + peer
	}
	text, ok := whyRefused[why]
	if !ok {
		text = string(why)
	}
	err := broker.TellRefused(ctx, p.b, m, text)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, inbox.ErrFull) { // the sender is gone, or does not read: go on with the others
		p.h.Log.Warn("a sender is not told that its message was refused", "message_id", m.ID, "err", err)
		return nil
	}
	return err
}
