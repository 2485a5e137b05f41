package mcp

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/internal/daemon"
	"c2c/mcp/rpc"
)

var (
	errFull      = errors.New("too many MCP sessions")
	errNoSession = errors.New("the session was not made")
	errEnded     = errors.New("the client has ended the session")
	errIdle      = errors.New("the session was unused for too long")
)

// sessionTable holds the open MCP sessions by id. A goroutine that holds the table's lock never
// takes a session's lock.
type sessionTable struct {
	*host
	busy daemon.Underway // counts the requests of all sessions
	mu   sync.Mutex
	byID map[string]*httpSession
}

// newSession makes a session without adding it to the table.
func (t *sessionTable) newSession(id string) *httpSession {
	s := newHTTPSession(t.host, id)
	s.peer.Others = binder{t, s}
	return s
}

// snapshot returns the sessions, in no order.
func (t *sessionTable) snapshot() []*httpSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.byID))
}

func (t *sessionTable) known(id string) *httpSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// find returns the session that a request names. If there is none, it answers the request with an
// error and returns nil.
func (t *sessionTable) find(w http.ResponseWriter, r *http.Request) *httpSession {
	ids := r.Header.Values(server.HeaderKeySessionID)
	if len(ids) != 1 || ids[0] == "" {
		http.Error(w, "Mcp-Session-Id is missing: start with initialize", http.StatusBadRequest)
		return nil
	}
	s := t.known(ids[0])
	if s == nil {
		if k, ok := t.readRecord(ids[0]); ok {
			if s = t.revive(k); s == nil {
				sayLater(w, errFull.Error())
				return nil
			}
		}
	}
	if s == nil || !s.accepts(r) {
		refuseUnknown(w)
		return nil
	}
	return s
}

// enter finds the session of a request, and counts the request as under way until leave is called.
// If s is nil, enter has answered the request with an error.
func (t *sessionTable) enter(w http.ResponseWriter, r *http.Request) (s *httpSession, leave func()) {
	if s = t.find(w, r); s == nil {
		return nil, nil
	}
	if !t.busy.Begin() {
		sayLater(w, rpc.ErrStopping.Error())
		return nil, nil
	}
	switch ended, full := s.enter(); {
	case ended:
		refuseUnknown(w)
	case full:
		http.Error(w, "too many requests of this session at once", http.StatusTooManyRequests)
	default:
		return s, func() { s.leave(); t.busy.Done() }
	}
	t.busy.Done()
	return nil, nil
}

// refuseUnknown answers 404, which makes a client initialize again.
func refuseUnknown(w http.ResponseWriter) {
	http.Error(w, "no such session: start with initialize", http.StatusNotFound)
}

// add puts a session into the table and returns it. If the table already has a session with this
// id, add returns that session instead. When the table is full, add first evicts the least recently
// used session that it may evict; if there is none, it returns nil.
func (t *sessionTable) add(s *httpSession) *httpSession {
	for {
		oldest := t.oldest()
		t.mu.Lock()
		there := t.byID[s.id]
		full := there == nil && len(t.byID) >= t.limits.Sessions
		if !full && there == nil {
			t.byID[s.id], there = s, s
		}
		t.mu.Unlock()
		if !full || oldest == nil {
			return there
		}
		t.drop(oldest, errIdle, false)
	}
}

// oldest returns the least recently used session that can be evicted; nil: there is none.
func (t *sessionTable) oldest() (oldest *httpSession) {
	for _, s := range t.snapshot() {
		if s.canEvict() && (oldest == nil || s.lastUse().Before(oldest.lastUse())) {
			oldest = s
		}
	}
	return oldest
}

// drop ends a session and removes it from the table. If forget is set, it also removes the record
// on disk.
func (t *sessionTable) drop(s *httpSession, why error, forget bool) {
	t.mu.Lock()
	if t.byID[s.id] == s {
		delete(t.byID, s.id)
	}
	t.mu.Unlock()
	s.end(why)
	if forget {
		s.forgetMailbox()
	}
}

// revive opens a session from its record, after a restart of the daemon. It returns nil if the
// table is full.
func (t *sessionTable) revive(k record) *httpSession {
	s := t.newSession(k.ID)
	s.root, s.rootBy, s.kept, s.protocol, s.info = k.Root, k.RootBy, k, k.Protocol, mcp.Implementation{Name: k.Client}
	s.peer.Last, s.peer.SharesProcess = k.SID, k.SharesProcess
	if !t.hasEnded(k.process) {
		s.peer.Client.Process = k.PID
	}
	there := t.add(s)
	if there != s { // another request was faster, or the table is full
		s.end(errNoSession)
	} else {
		t.bellsMoved()
	}
	return there
}

// dropEnded drops sessions whose client has ended. Until a session is dropped, its peer holds the
// server lock, and other processes believe that the session lives.
func (t *sessionTable) dropEnded() {
	for _, s := range t.snapshot() {
		if s.clientEnded() {
			t.drop(s, errEnded, true)
		}
	}
}

func (t *sessionTable) sweep() {
	t.dropEnded()
	now := t.cfg.Now()
	for _, s := range t.snapshot() {
		if s.isIdle(now) {
			t.drop(s, errIdle, true)
			continue
		}
		kept, used := s.record()
		if kept.ID != "" {
			t.touchRecord(s.id, used)
		}
		if kept.PID == 0 && !s.isThere() { // c2c cannot see whether the client's process has ended
			s.peer.ReleaseLock()
		}
	}
	if err := t.sweepRecords(now, func(id string) bool { return t.known(id) != nil }); err != nil {
		t.cfg.Log.Warn("old records of MCP sessions stay on disk", "err", err)
	}
}

// binder records the mailbox that a session's peer has found, and compares it with the mailboxes of
// the other sessions.
type binder struct {
	*sessionTable
	s *httpSession
}

// Taken reports whether another session has the mailbox, and is still used by its client (isThere).
// An unused session does not count: a client that reconnects leaves its old session behind.
func (b binder) Taken(sid string) bool {
	return slices.ContainsFunc(b.others(sid), (*httpSession).isThere)
}

// others returns the other sessions that have this mailbox.
func (b binder) others(sid string) []*httpSession {
	return slices.DeleteFunc(b.snapshot(), func(other *httpSession) bool { return other == b.s || other.peer.Session() != sid })
}

func (b binder) LockBinding() (unlock func()) { return b.lockBinding(b.s.rootNow()) }

// Bind writes the mailbox of an MCP session to the session's record, and takes the mailbox away
// from MCP sessions that their client has left behind. If the calls themselves name their session
// of c2c, Bind only writes the record, at the first such call.
func (b binder) Bind(sid string, named bool) error {
	s := b.s
	s.mu.Lock()
	k, root, by := s.kept, s.root, s.rootBy
	s.mu.Unlock()
	pid, shares := s.peer.Processes()
	if k.SID != "" && k.Root == root && (named || k.SID == sid && k.PID == pid && k.SharesProcess == shares) {
		return nil
	}
	k = record{s.id, root, by, sid, s.GetClientInfo().Name, s.version(), shares, b.processOf(pid)}
	for _, other := range b.others(sid) {
		if !named && !other.isThere() {
			other.peer.ForgetSession()
			other.forgetMailbox()
		}
	}
	if err := b.writeRecord(k); err != nil {
		return err
	}
	s.mu.Lock()
	s.kept = k
	ended := s.ended
	s.mu.Unlock()
	if ended { // the client has ended the session meanwhile
		s.forgetMailbox()
	}
	b.bellsMoved()
	return nil
}
