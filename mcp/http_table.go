package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/inbox/mail"
	"c2c/process/procstat"
)

// record is what is kept of an MCP session that has a mailbox. The time of the file is about that of its last request.
type record struct {
	ID            string  `json:"id"`
	Root          string  `json:"root"`
	RootBy        string  `json:"root_by,omitempty"`
	SID           string  `json:"sid"`
	Client        string  `json:"client"` // as it calls itself
	Protocol      string  `json:"protocol"`
	PID           int     `json:"pid,omitempty"`   // 0: it cannot be seen
	SharesProcess bool    `json:"apart,omitempty"` // the process is not to tell who calls: another session of it has its mailbox
	StartTime     int64   `json:"pid_start_time,omitempty"`
	Namespace     string  `json:"pid_namespace,omitempty"`
	Created       float64 `json:"created"`
}

const (
	recordSuffix = ".json"
	maxRecord    = 16 << 10
	sweepEvery   = time.Minute
	goneEvery    = 2 * time.Second // so soon it is seen that a client has ended
	touchEvery   = time.Hour       // the time of a record may be so old
	idleTaker    = 10 * time.Minute
)

// find gives the session that a request names, or answers that there is none.
func (h *HTTP) find(w http.ResponseWriter, r *http.Request) *httpSession {
	ids := r.Header.Values(server.HeaderKeySessionID)
	if len(ids) != 1 || ids[0] == "" {
		http.Error(w, "Mcp-Session-Id is missing: start with initialize", http.StatusBadRequest)
		return nil
	}
	s := h.known(ids[0])
	if s == nil {
		if k, ok := h.read(ids[0]); ok {
			if s = h.revive(k); s == nil {
				sayLater(w, errFull.Error())
				return nil
			}
		}
	}
	if s == nil || !s.isOf(r) {
		sayGone(w)
		return nil
	}
	return s
}

var errFull = errors.New("too many MCP sessions")

// sayGone makes a client initialize anew.
func sayGone(w http.ResponseWriter) {
	http.Error(w, "no such session: start with initialize", http.StatusNotFound)
}

func (h *HTTP) known(id string) *httpSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// isOf says whether a request may come from the client of the session: not from another process while the session's own
// lives.
func (s *httpSession) isOf(r *http.Request) bool {
	s.mu.Lock()
	kept := s.kept
	s.mu.Unlock()
	if kept.PID == 0 || !kept.lives() {
		return true
	}
	pid := s.h.cfg.Process(r)
	return pid == 0 || pid == kept.PID
}

// lives says whether the process of a session goes on. One that cannot be seen from here is taken to.
func (k record) lives() bool {
	return k.PID == 0 || k.Namespace != namespace() || !hasEnded(k.PID, k.StartTime)
}

// hasEnded says whether a process has ended. Of one without a start time nobody can tell.
func hasEnded(pid int, start int64) bool {
	if start == 0 {
		return false
	}
	p, err := procstat.Read(pid)
	return err == nil && p.Start != start || errors.Is(err, procstat.ErrNone)
}

// namespace names the PID namespace of this process, "" where there is none.
func namespace() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return name
}

// add puts a session into the table, and gives the one that has its id there. When the table is full, the session without a
// mailbox goes that was not used for longest; nil: each has one.
func (h *HTTP) add(s *httpSession) *httpSession {
	for {
		oldest := h.oldest()
		h.mu.Lock()
		there := h.sessions[s.id]
		full := there == nil && len(h.sessions) >= h.limits.Sessions
		if !full && there == nil {
			h.sessions[s.id], there = s, s
		}
		h.mu.Unlock()
		if !full || oldest == nil {
			return there
		}
		h.drop(oldest, errIdle, false)
	}
}

// oldest is the session without a mailbox that was not used for longest; nil: there is none.
func (h *HTTP) oldest() (oldest *httpSession) {
	for _, s := range h.all() {
		if s.mayGo() && (oldest == nil || s.lastUse().Before(oldest.lastUse())) {
			oldest = s
		}
	}
	return oldest
}

var errIdle = errors.New("the session was not used for long")

// mayGo says whether nothing is lost with the session: it has no mailbox, and nobody is at it.
func (s *httpSession) mayGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests == 0 && s.kept.ID == ""
}

func (s *httpSession) lastUse() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// drop ends a session. forget: also on disk.
func (h *HTTP) drop(s *httpSession, why error, forget bool) {
	h.mu.Lock()
	if h.sessions[s.id] == s {
		delete(h.sessions, s.id)
	}
	h.mu.Unlock()
	s.end(why)
	if forget {
		s.unkeep()
	}
}

// revive brings a session back that has a mailbox, after a start of the daemon; nil: there is no room for it.
func (h *HTTP) revive(k record) *httpSession {
	s := h.newSession(k.ID)
	s.decided, s.root, s.rootBy, s.kept, s.protocol, s.info = true, k.Root, k.RootBy, k, k.Protocol, mcp.Implementation{Name: k.Client}
	s.peer.Last, s.peer.SharesProcess = k.SID, k.SharesProcess
	if k.lives() {
		s.peer.Client.Process = k.PID
	}
	there := h.add(s)
	if there != s { // another request was faster, or there is no room
		s.end(errNoSession)
	} else {
		h.tellChange(k.Root)
	}
	return there
}

// read gives what is kept of a session that is not open.
func (h *HTTP) read(id string) (k record, ok bool) {
	if !isSessionID(id) {
		return k, false
	}
	info, err := h.cfg.Sessions.Stat(id + recordSuffix)
	if err != nil || h.cfg.Now().Sub(info.ModTime()) > h.limits.Bound {
		return k, false
	}
	data, err := h.cfg.Sessions.ReadMost(id+recordSuffix, maxRecord)
	if err != nil || json.Unmarshal(data, &k) != nil || k.ID != id || k.SID == "" || k.Root == "" {
		return k, false
	}
	return k, true
}

// Taken says whether another MCP session has the mailbox, and its client is there: a stream is open, a request under way, or
// it never opens a stream and has called a moment ago. A client that has connected anew leaves its old session behind.
func (s *httpSession) Taken(sid string) bool {
	return slices.ContainsFunc(s.others(sid), (*httpSession).isThere)
}

func (s *httpSession) isThere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests > 0 || !s.listened && s.h.cfg.Now().Sub(s.used) < idleTaker
}

// One lets one session at a time find its mailbox: two of one process would find the same.
func (s *httpSession) One() (done func()) {
	s.h.first.Lock()
	return s.h.first.Unlock
}

// Bound keeps the session's mailbox on disk, and takes it from an MCP session that the client has left. A client that says in
// each call whose session it is needs it only once.
func (s *httpSession) Bound(sid string, said bool) error {
	s.mu.Lock()
	k, root, by := s.kept, s.root, s.rootBy
	s.mu.Unlock()
	pid, apart := s.peer.Processes()
	if k.SID != "" && k.Root == root && (said || k.SID == sid && k.PID == pid && k.SharesProcess == apart) {
		return nil
	}
	if k.ID == "" {
		k = record{ID: s.id, Created: mail.Seconds(s.h.cfg.Now())}
	}
	k.SID, k.Root, k.RootBy, k.Client, k.Protocol, k.PID, k.SharesProcess, k.StartTime, k.Namespace = sid, root, by, s.GetClientInfo().Name, s.version(), pid, apart, 0, ""
	if pid != 0 {
		if p, err := procstat.Read(pid); err == nil {
			k.StartTime, k.Namespace = p.Start, namespace()
		}
	}
	for _, other := range s.others(sid) {
		if !said && !other.isThere() {
			other.peer.Leave()
			other.unkeep()
		}
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := s.h.cfg.Sessions.Write(s.id+recordSuffix, append(data, '\n')); err != nil {
		return err
	}
	s.mu.Lock()
	s.kept = k
	ended := s.ended
	s.mu.Unlock()
	if ended { // its client has ended it meanwhile
		s.unkeep()
	}
	s.h.tellChange(root)
	return nil
}

// boundIn is the root of the session's mailbox, "" if it has none.
func (s *httpSession) boundIn() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Root
}

// others gives the other MCP sessions that have a mailbox.
func (s *httpSession) others(sid string) []*httpSession {
	return slices.DeleteFunc(s.h.all(), func(other *httpSession) bool { return other == s || other.peer.Session() != sid })
}

// unkeep forgets on disk which mailbox the session has.
func (s *httpSession) unkeep() {
	s.mu.Lock()
	was := s.kept.ID != ""
	s.kept = record{}
	s.mu.Unlock()
	if !was {
		return
	}
	if err := s.h.cfg.Sessions.Remove(s.id + recordSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.h.cfg.Log.Warn("an MCP session that has ended stays on disk", "err", err)
	}
}

// sweepNowAndThen forgets sessions that nobody uses, until Close.
func (h *HTTP) sweepNowAndThen() {
	tick, gone := time.NewTicker(sweepEvery), time.NewTicker(goneEvery)
	defer tick.Stop()
	defer gone.Stop()
	for {
		select {
		case <-gone.C:
			h.dropGone()
			h.stateless.sweep()
		case <-tick.C:
			h.sweep()
		case <-h.ctx.Done():
			return
		}
	}
}

// dropGone forgets sessions whose client has ended: as long as they are served they are said to be alive.
func (h *HTTP) dropGone() {
	for _, s := range h.all() {
		if s.hasEnded() {
			h.drop(s, errEnded, true)
		}
	}
}

// isSeen says whether the client's process tells when it has ended.
func (s *httpSession) isSeen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.PID != 0
}

func (s *httpSession) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests == 0 && s.kept.ID != "" && !s.kept.lives()
}

func (h *HTTP) sweep() {
	h.dropGone()
	now := h.cfg.Now()
	for _, s := range h.all() {
		s.streams.forget(now.Add(-h.limits.Kept))
		if s.isIdle(now) {
			h.drop(s, errIdle, true)
			continue
		}
		s.touch()
		if !s.isSeen() && !s.isThere() {
			s.peer.Rest()
		}
	}
	if err := h.sweepRecords(now); err != nil {
		h.cfg.Log.Warn("old MCP sessions stay on disk", "err", err)
	}
}

func (s *httpSession) isIdle(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiet := now.Sub(s.used)
	switch {
	case s.requests > 0:
		return false
	case s.kept.ID == "":
		return quiet > s.h.limits.Idle
	}
	return quiet > s.h.limits.Bound
}

// touch keeps the time of the record near that of the last request.
func (s *httpSession) touch() {
	s.mu.Lock()
	kept, used := s.kept.ID != "", s.used
	s.mu.Unlock()
	if !kept {
		return
	}
	name := s.id + recordSuffix
	if info, err := s.h.cfg.Sessions.Stat(name); err == nil && used.Sub(info.ModTime()) > touchEvery {
		err = s.h.cfg.Sessions.Touch(name, used)
		if err != nil {
			s.h.cfg.Log.Warn("the time of an MCP session cannot be kept", "err", err)
		}
	}
}

// sweepRecords removes records of sessions that are not open: those that are too old, and the oldest of too many.
func (h *HTTP) sweepRecords(now time.Time) error {
	names, err := h.cfg.Sessions.Names()
	if err != nil {
		return err
	}
	type file struct {
		name string
		at   time.Time
	}
	var left []file
	for _, name := range names {
		id, ok := strings.CutSuffix(name, recordSuffix)
		if !ok || !isSessionID(id) || h.known(id) != nil {
			continue
		}
		if info, err := h.cfg.Sessions.Stat(name); err == nil {
			left = append(left, file{name, info.ModTime()})
		}
	}
	sort.Slice(left, func(i, j int) bool {
		return cmp.Or(left[j].at.Compare(left[i].at), cmp.Compare(left[i].name, left[j].name)) < 0
	})
	for i, f := range left {
		if i < h.limits.Sessions && now.Sub(f.at) <= h.limits.Bound {
			continue
		}
		if err := h.cfg.Sessions.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", f.name, err)
		}
	}
	return nil
}
