package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker"
	"c2c/inbox"
	"c2c/mcp/tools"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// statelessPeers holds the client processes that call without an MCP session.
type statelessPeers struct {
	*host
	mu      sync.Mutex
	byKey   map[string]*statelessPeer // by process id, start time and root
	closing sync.WaitGroup            // those that drop closes
}

// statelessPeer is a client process that calls without an MCP session. c2c knows only the process
// of such a client.
type statelessPeer struct {
	*tools.Peer
	table   *statelessPeers
	root    string
	process process
	used    time.Time
	active  int // number of its requests under way

	mu        sync.Mutex
	listening *subscription // the newest subscription; nil: none is open
	told      string        // the session of c2c about which the ringers were last notified
}

// enter returns the peer of the calling process. It makes a peer if there is none. The peer stays
// open for the next call.
func (t *statelessPeers) enter(r *http.Request) (*statelessPeer, error) {
	pid := t.cfg.Process(r)
	if pid == 0 {
		return nil, errors.New("c2c cannot see which process calls, and this revision of MCP has no session: use revision 2025-11-25, and begin with initialize")
	}
	root, by, err := t.cfg.Root(r)
	if err != nil {
		return nil, fmt.Errorf("find out which project this client works in: %w", err)
	}
	caller := t.processOf(pid)
	key := strconv.Itoa(pid) + " " + strconv.FormatInt(caller.StartTime, 10) + " " + root
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byKey[key]
	if p == nil {
		p = &statelessPeer{table: t, root: root, process: caller}
		p.Peer = &tools.Peer{Cfg: &t.cfg.Config, Others: p, Client: tools.Client{Remote: true, Process: pid, Open: func(log inbox.Log) (*broker.Broker, error) {
			return t.cfg.Open(root, log)
		}}, Connection: func() tools.Connection {
			return t.connection(p.silence(), by, mcp.ProtocolVersion20260728)
		}}
		t.byKey[key] = p
	}
	p.active++
	return p, nil
}

func (p *statelessPeer) leave() {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	p.active--
	p.used = p.table.cfg.Now()
}

// sweep drops processes that have ended, and those that have not called for limits.Bound.
func (t *statelessPeers) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, p := range t.byKey {
		if p.active == 0 && (t.hasEnded(p.process) || t.cfg.Now().Sub(p.used) > t.limits.Bound) {
			t.drop(key)
		}
	}
}

// drop forgets the peer of a process, and closes it in a goroutine, because a disk may hang. The
// caller holds the lock.
func (t *statelessPeers) drop(key string) {
	p := t.byKey[key]
	delete(t.byKey, key)
	t.closing.Go(p.Close)
	t.bellsMoved()
}

// bound returns the peers that have a mailbox.
func (t *statelessPeers) bound() (all []*statelessPeer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.byKey {
		if p.Session() != "" {
			all = append(all, p)
		}
	}
	return all
}

// close drops all processes. The caller makes sure that no request is under way.
func (t *statelessPeers) close() {
	defer t.closing.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.byKey {
		t.drop(key)
	}
}

// Taken reports whether another connection has the session. None can have it: the session
// belongs to this process, and a process has only one peer for each root.
func (p *statelessPeer) Taken(string) bool { return false }

// Bind notifies the ringers if the peer has another session of c2c than before.
func (p *statelessPeer) Bind(sid string, _ bool) error {
	p.mu.Lock()
	known := p.told == sid
	p.told = sid
	p.mu.Unlock()
	if !known {
		p.table.bellsMoved()
	}
	return nil
}

func (p *statelessPeer) LockBinding() (unlock func()) { return p.table.lockBinding(p.root) }

// findSession finds the session of c2c that the process had before the daemon was restarted. It
// does not make a session.
func (p *statelessPeer) findSession(ctx context.Context) {
	if p.Session() != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tools.EarlyWait)
	defer cancel()
	b, err := p.Open()
	if err != nil {
		return // the first tool call reports the error
	}
	if s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Remote: true, Transport: sessions.TransportHTTP, PID: p.Process()}); err == nil {
		p.Remember(b, s)
	}
}

// subscribe begins a subscription and ends the previous one, which the client may have lost without
// c2c noticing.
func (p *statelessPeer) subscribe(end func()) *subscription {
	s := p.table.newSubscription(end)
	p.mu.Lock()
	old := p.listening
	p.listening = s
	p.mu.Unlock()
	if old != nil {
		old.end()
	}
	return s
}

func (p *statelessPeer) unsubscribe(s *subscription) {
	close(s.gone)
	p.mu.Lock()
	if p.listening == s {
		p.listening = nil
	}
	p.mu.Unlock()
	p.table.bellsMoved()
}

// bell returns the subscription on which c2c can ring; nil: there is none.
func (p *statelessPeer) bell() numberedBell {
	p.mu.Lock()
	s := p.listening
	p.mu.Unlock()
	if s == nil || !s.isBell() {
		return nil
	}
	return s
}

// silence explains why c2c cannot ring; "" means that it can.
func (p *statelessPeer) silence() string {
	if p.bell() != nil {
		return ""
	}
	return "the client does not listen (subscriptions/listen for " + tools.InboxURI + "): mail waits until the client calls a tool"
}
