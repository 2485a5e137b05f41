package relay

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/daemon"
	"c2c/project"
	"c2c/relay"
	"c2c/rooms"
	"c2c/sessions"
)

// roots holds the open roots, which exchange mail with other machines. It passes a carrier's
// packets to the relays of these roots.
type roots struct {
	h *Host

	opening sync.Mutex // held while a root is opened or closed

	failed map[string]string    // by path of a root: why it could not be opened, to log this only once; only look uses this field
	alone  map[string]time.Time // by path of a root without members on other machines: when its rooms last changed; only look uses this field

	mu   sync.Mutex
	open map[string]*root // by the name of the project
	up   map[string]bool  // the hosts that have a link; a root that is opened later learns of it, too
}

// root is an open root.
type root struct {
	name, path string
	b          *broker.Broker
	relay      *relay.Relay
	stop       func()
	busy       sync.RWMutex      // read-locked while the relay takes a packet, locked while the root is closed
	files      map[string]string // watched files, by name
	arrived    *followed
	rooms      *rooms.Home
	said       string    // the last announced sessions
	looked     time.Time // when the sessions were last listed
	mark       string    // the state of the root's files at that time
}

// Packet implements relay.Handler. It opens a root at the first packet for the root's project. If
// no root here has the project, the sender keeps its mail.
func (r *roots) Packet(ctx context.Context, packet []byte) error {
	to, err := relay.LabelOf(packet)
	if err != nil {
		return nil
	}
	open := r.at(to.Project)
	if open == nil {
		all := r.h.rootsHere()
		i := slices.IndexFunc(all, func(here project.Root) bool { return here.Name == to.Project && isUsed(here) })
		if i < 0 {
			return relay.AnswerAbsent(ctx, r.h.peers, r.h.carrier, packet)
		}
		if open, err = r.get(all[i]); err != nil {
			return err
		}
		r.h.changes.Recheck() // posts may wait in this root
	}
	open.busy.RLock()
	defer open.busy.RUnlock()
	if open.b.Replaced() {
		r.h.changes.Recheck()
		return errReplaced
	}
	return open.relay.Packet(ctx, packet)
}

// errReplaced means that a packet came for a root whose relay ends, see endReplaced. The sender
// gets no answer, so it asks again later, when look has ended the relay.
var errReplaced = errors.New("the root was removed or replaced, or its project got another name: it is opened anew")

// Link implements relay.Handler.
func (r *roots) Link(peer string, up bool) {
	r.mu.Lock()
	r.up[peer] = up
	for _, open := range r.open {
		open.relay.Link(peer, up)
	}
	r.mu.Unlock()
	if up {
		r.h.changes.Recheck() // the host may not know of all sessions and states
	}
}

// inUse is how long a root counts as in use after its last change.
const inUse = 14 * 24 * time.Hour

// endReplaced ends the relays of open roots that were removed or replaced: all writes to such a
// root are lost, and its sessions may be in another root. If areKnown is set, it also ends the
// relays of roots whose project has another name now: such a relay holds locks in the root, so the
// relay for the new name can begin only after that. Only look may call endReplaced, because look
// uses the open roots.
func (r *roots) endReplaced(here []project.Root, areKnown bool) {
	for _, open := range r.all() {
		if open.b.Replaced() || areKnown && !slices.Contains(here, project.Root{Path: open.path, Name: open.name}) {
			r.h.Log.Info("a root was removed or replaced, or its project got another name", "root", open.path, "project", open.name)
			r.end(open.name)
		}
	}
}

// look opens the roots in which mail waits for a host, roots with a room that has members on other
// machines, and roots in use. It makes the relay check the rooms and outboxes of all open roots. It
// returns the files to watch for changes, and the time after which to call it again; 0: not before
// a file changes. isKnown is false if the list of hosts and named projects cannot be read. Then
// look leaves the rooms as they are, so that no machine loses its members. It also ends no relay
// because of the name of a project.
func (r *roots) look(ctx context.Context, list []relay.Host, isKnown bool) (files []string, again time.Duration) {
	list = slices.DeleteFunc(slices.Clone(list), func(h relay.Host) bool { return h.Revoked != 0 })
	all := r.h.rootsHere()
	r.endReplaced(all, isKnown)
	for _, here := range all {
		open := r.at(here.Name)
		if open == nil && !isUsed(here) {
			if isThere(here.Path) {
				files = append(files, here.Path) // its first session may register soon
			}
			continue
		}
		if open == nil && (len(waiting(here, list)) > 0 || r.mayOpen(here, list) || r.isShared(here)) {
			var err error
			if open, err = r.get(here); err == nil {
				delete(r.failed, here.Path)
			} else if r.failed[here.Path] != err.Error() { // the next look tries again
				r.failed[here.Path] = err.Error()
				r.h.Log.Error("a root's mail is not relayed", "root", here.Path, "err", err)
			}
		}
		if open == nil {
			continue
		}
		if isKnown {
			files = append(files, open.rooms.Look(ctx, rightsOf(list, open.name))...) // before the check for mail, because this may add mail
		}
		for _, host := range list {
			files = open.watched(files, relay.Outbox(host.Name)+".inbox.lock")
		}
		for _, name := range waiting(here, list) {
			open.relay.Look(name)
		}
		if slices.ContainsFunc(list, func(h relay.Host) bool { return open.relay.Linked(h.Name) }) {
			if later := r.announce(ctx, open); later > 0 && (again == 0 || later < again) {
				again = later
			}
			files = open.watched(files, sessions.RegistryLock)
			if dir := filepath.Join(open.path, "sessions"); isThere(dir) {
				files = append(files, dir)
			}
		}
		files = append(files, open.report(ctx)...)
	}
	return files, again
}

// rightsOf returns the rights of the hosts of a list in one project.
func rightsOf(list []relay.Host, projectName string) rooms.Rights {
	return func(name, room string) (paired, mayJoin bool) {
		i := slices.IndexFunc(list, func(h relay.Host) bool { return h.Name == name })
		return i >= 0, i >= 0 && list[i].MayReach(projectName, "#"+room)
	}
}

// mayOpen reports whether to open a root that has no mail for other hosts: if a host may reach its
// sessions, and it is in use.
func (r *roots) mayOpen(here project.Root, list []relay.Host) bool {
	info, err := os.Stat(here.Path)
	return err == nil && r.h.Now().Sub(info.ModTime()) < inUse &&
		slices.ContainsFunc(list, func(h relay.Host) bool { return h.MayReachProject(here.Name) })
}

// isShared reports whether a root that is not open has a room with members on other machines, so
// that posts may wait there. A member on another machine can join only while the root is open. So
// isShared checks again only when a room was made or archived.
func (r *roots) isShared(here project.Root) bool {
	info, err := os.Stat(filepath.Join(here.Path, rooms.Directory))
	if err != nil || info.ModTime().Equal(r.alone[here.Path]) {
		return false
	}
	if rooms.AreShared(here.Path) {
		return true
	}
	r.alone[here.Path] = info.ModTime()
	return false
}

// retell makes the relay send the list of sessions to all hosts again, because the hosts' rights
// have changed.
func (r *roots) retell() {
	for _, open := range r.all() {
		open.said, open.mark = "", ""
	}
}

// watched adds a lock file to files. It makes the file only the first time: to make the file again
// would look like a change.
func (o *root) watched(files []string, name string) []string {
	path, ok := o.files[name]
	if !ok {
		var err error
		if path, err = o.b.Locks.Watchable(name); err != nil {
			return files // the relay also checks without it, once a minute
		}
		o.files[name] = path
	}
	return append(files, path)
}

// report sends other hosts the states of their messages, and returns the files to watch for further
// changes.
func (o *root) report(ctx context.Context) (files []string) {
	news, sids := o.arrived.look(ctx, o.relay.Linked)
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

// waiting returns the hosts for which mail waits in a root.
func waiting(here project.Root, list []relay.Host) (names []string) {
	for _, host := range list {
		if mailWaits(here.Path, relay.Outbox(host.Name)) {
			names = append(names, host.Name)
		}
	}
	return names
}

// mailWaits reports whether a mailbox has mail, or had mail until a moment ago.
func mailWaits(root, sid string) bool {
	if info, err := os.Stat(filepath.Join(root, sid+".inbox.json")); err == nil && info.Size() > int64(len("[]\n")) {
		return true
	}
	older, err := os.ReadDir(filepath.Join(root, sid+".lease"))
	return err == nil && len(older) > 0
}

// isUsed reports whether a root has had a session. Before that, mail for its sessions waits at the
// sender.
func isUsed(here project.Root) bool {
	return isThere(filepath.Join(here.Path, sessions.RegistryFileName))
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

func (r *roots) all() []*root {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.open))
}

// get returns an open root. If necessary, it opens the root and starts the root's relay.
func (r *roots) get(here project.Root) (*root, error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	if open := r.at(here.Name); open != nil {
		return open, nil
	}
	if slices.ContainsFunc(r.all(), func(open *root) bool { return open.path == here.Path }) {
		return nil, errReplaced
	}
	cfg := broker.ConfigOf(r.h.Getenv, here.Path, r.h.Log)
	cfg.Now = r.h.Now
	b, err := broker.Open(cfg)
	if err != nil {
		return nil, err
	}
	arrived, err := follow(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	open := &root{name: here.Name, path: here.Path, b: b, arrived: arrived, rooms: rooms.NewHome(b), files: map[string]string{}}
	if err := r.begin(open); err != nil {
		return nil, err
	}
	r.h.Log.Info("relays for a root", "root", here.Path, "project", here.Name)
	return open, nil
}

// begin runs the relay of a root until the method end is called. If begin returns an error, it has
// closed the root.
func (r *roots) begin(open *root) error {
	one, err := relay.Open(relay.Config{Root: open.b.Dir(), Project: open.name, Peers: r.h.peers, Carrier: r.h.carrier, Way: r.h.carrier.way,
		Post: &post{open.b, r.h, open.arrived, open.name, open.rooms}, Log: r.h.Log, Now: r.h.Now})
	if err != nil {
		return errors.Join(err, open.close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := daemon.Survive(r.h.Log, "relay for a root", func() error { return one.Run(ctx) }); err != nil {
			r.h.Log.Error("the relay of a root ended", "root", open.path, "err", err)
		}
	}()
	open.relay, open.stop = one, func() { cancel(); <-ended; open.close() }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[open.name] = open
	for peer, up := range r.up {
		if up {
			one.Link(peer, true)
		}
	}
	return nil
}

func (o *root) close() error {
	o.arrived.close()
	return o.b.Close()
}

// end undoes begin. It waits until the relay has taken the packets under way.
func (r *roots) end(name string) {
	r.opening.Lock() // the same project may be opened again only after end
	defer r.opening.Unlock()
	r.mu.Lock()
	open := r.open[name]
	delete(r.open, name)
	r.mu.Unlock()
	if open != nil {
		open.busy.Lock()
		defer open.busy.Unlock()
		open.stop()
	}
}

// closeAll ends the relays of all roots, which then release their leases.
func (r *roots) closeAll() {
	for _, open := range r.all() {
		r.end(open.name)
	}
}

// post is the local end of the relay of one root.
type post struct {
	b       *broker.Broker
	h       *Host
	arrived *followed
	project string
	rooms   *rooms.Home
}

// Deliver implements relay.Post. If the root was replaced meanwhile, the result does not count: the
// sessions may be in another root now.
func (p *post) Deliver(ctx context.Context, peer, alias string, msgs []mail.Message, mayRepeat bool) (relay.Reason, error) {
	why, err := p.deliver(ctx, peer, alias, msgs, mayRepeat)
	if p.b.Replaced() {
		return relay.Stored, errors.Join(errReplaced, err)
	}
	return why, err
}

// deliver stores messages. The mailbox recognizes stored messages by their ids.
func (p *post) deliver(ctx context.Context, peer, alias string, msgs []mail.Message, mayRepeat bool) (relay.Reason, error) {
	if room, ok := relay.IsRoom(alias); ok {
		return p.toRoom(ctx, peer, room, msgs, mayRepeat)
	}
	ctx, end := context.WithTimeout(ctx, sessions.KeepWait) // a suspended process may hold the mailbox's lock for days
	defer end()
	sid, err := broker.Receive(ctx, p.b, alias, msgs, mayRepeat)
	if err == nil {
		p.arrived.add(peer, sid, msgs)
		p.h.changes.Recheck() // watch the session's mailbox, too
	}
	why := relay.Reason(broker.Refusal(err))
	if why == relay.Blocked {
		p.h.Log.Error("mail of another host is refused", "host", peer, "alias", alias, "err", err)
	}
	if why != relay.Stored {
		err = nil
	}
	return why, err
}

// Refused implements relay.Post.
func (p *post) Refused(ctx context.Context, peer string, m mail.Message, why relay.Reason) error {
	ctx, end := context.WithTimeout(ctx, sessions.KeepWait)
	defer end()
	if !strings.Contains(m.To, "@") {
		m.To += "@" + peer
	}
	if strings.HasPrefix(m.To, "#") {
		// Only the reason NoMember takes the sender of a post out of this host's copy of the room.
		// If the room was closed, the sender stays in the copy: posts that name the sender may
		// still come, before the message that closes the copy.
		words, err := rooms.RefusedCopy(ctx, p.b, peer, m, why != relay.NoMember)
		if err != nil || words == "" {
			return err
		}
		m.Content = words // the notice quotes m.Content, so put the sender's own words there
	}
	return broker.TellRefused(ctx, p.b, sessions.HostPrefix+peer, m, why.Text())
}
