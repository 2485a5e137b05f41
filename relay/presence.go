package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"c2c/inbox/mail"
	"c2c/relay/cache"
)

// mostStates limits the number of states in a packet, and of states that wait for a link.
const mostStates = 1000

// contactGap is the shortest time between two writes to the cache that record when a peer was last
// heard.
const contactGap = time.Minute

// inFlight is the longest time that a packet needs to arrive. A state that was sent within this
// time may not have arrived yet.
const inFlight = 5 * time.Second

// hellos has the sessions and states that a sender sends besides mail. No receipt confirms such
// packets, and a carrier may notice late that a link is dead. So on a new link the sender sends the
// sessions again, and the states that it sent after it had last heard the peer.
type hellos struct {
	serial   uint64 // the number of the last such packet; the first one since the start of the relay has number 1
	sessions []cache.HeardSession
	told     bool // the present sessions were sent on this link
	knows    bool // the last hello named at least one session
	states   []cache.HeardState
	unsure   []sentState // sent states that may be lost, because no packet of the peer has come since
}

type sentState struct {
	at time.Time
	cache.HeardState
}

// contact records when a peer was last heard.
type contact struct {
	file      sync.Mutex // held while the record of the peer is replaced
	mu        sync.Mutex
	at, noted time.Time // when the peer was last heard, and the time that was last written to the cache
	asked     time.Time // the time of the first question since the peer was last heard
}

// heard records that a packet of the peer has come. For a hello, the method hello writes the time
// to the cache.
func (l *line) heard(kind Kind) {
	now := l.Now()
	l.seen.mu.Lock()
	wasAsked := l.seen.asked
	l.seen.at, l.seen.asked = now, time.Time{}
	due := now.Sub(l.seen.noted).Abs() >= contactGap
	if due || kind == Hello {
		l.seen.noted = now
	}
	l.seen.mu.Unlock()
	l.out.heard(now)
	if !wasAsked.IsZero() {
		poke(l.out.news) // the link may be shown as dead: show it again
	}
	if !due || kind == Hello {
		return
	}
	if err := l.change(func(h *cache.HeardHost) { h.Seen = mail.Seconds(now) }); err != nil {
		l.Log.Warn("the contact with a host was not recorded", "host", l.peer, "err", err)
	}
}

// silentAfter is how long a peer may leave questions without an answer. After that c2c list does
// not show the link any more.
const silentAfter = 45 * time.Second

// isSilent reports whether a peer leaves questions without an answer for too long. If a peer
// sleeps, the carrier of this host may not notice: only ssh notices it, and only on the host that
// dials.
func (l *line) isSilent() bool {
	l.seen.mu.Lock()
	defer l.seen.mu.Unlock()
	return !l.seen.asked.IsZero() && l.Now().Sub(l.seen.asked) >= silentAfter
}

// hasAsked records a question to the peer.
func (l *line) hasAsked() {
	l.seen.mu.Lock()
	if l.seen.asked.IsZero() {
		l.seen.asked = l.Now()
	}
	l.seen.mu.Unlock()
}

// lastHeard returns the time of the last packet of the peer. It is zero if none has come since
// Open.
func (l *line) lastHeard() time.Time {
	l.seen.mu.Lock()
	defer l.seen.mu.Unlock()
	return l.seen.at
}

// Announce sends the present sessions to all peers. Call it only when something has changed: each
// call costs a packet for each peer.
func (r *Relay) Announce(sessions []cache.HeardSession) {
	sessions = slices.Clone(sessions[:min(len(sessions), cache.MaxSessions)])
	r.mu.Lock()
	r.sessions = sessions
	lines := make([]*line, 0, len(r.lines))
	for _, l := range r.lines {
		lines = append(lines, l)
	}
	r.mu.Unlock()
	for _, l := range lines {
		l.out.announce(sessions)
	}
}

// Linked reports whether there is a link to a peer.
func (r *Relay) Linked(peer string) bool {
	r.mu.Lock()
	l := r.lines[peer]
	r.mu.Unlock()
	return l != nil && l.out.isUp()
}

// Report sends a peer the states of its messages. Their field At is an age in seconds. Without a
// link, the newest mostStates wait.
func (r *Relay) Report(peer string, states []cache.HeardState) {
	if l := r.lineOf(peer); l != nil {
		l.out.report(states)
	}
}

func (s *sender) announce(sessions []cache.HeardSession) {
	s.mu.Lock()
	s.sessions, s.told = sessions, false
	s.mu.Unlock()
	poke(s.news)
}

func (s *sender) report(states []cache.HeardState) {
	s.mu.Lock()
	s.states = append(s.states, states...)
	s.states = slices.Clone(s.states[max(len(s.states)-mostStates, 0):])
	s.mu.Unlock()
	poke(s.news)
}

// heard forgets the sent states that the peer must have, because a packet of the peer came after
// them.
func (s *sender) heard(now time.Time) {
	s.mu.Lock()
	s.unsure = slices.DeleteFunc(s.unsure, func(u sentState) bool { return now.Sub(u.at) > inFlight })
	s.mu.Unlock()
}

// repeat makes the sender send the sessions again on a new link, and the states in unsure.
func (s *sender) repeat(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = false
	var again []cache.HeardState
	for _, u := range s.unsure {
		u.At += max(0, now.Sub(u.at).Seconds())
		again = append(again, u.HeardState)
	}
	again = append(again, s.states...)
	s.states, s.unsure = again[max(len(again)-mostStates, 0):], nil
}

// sendBeside sends new sessions and states.
func (s *sender) sendBeside(ctx context.Context, peer Host) error {
	s.mu.Lock()
	sessions, told, states := s.sessions, s.told || s.sessions == nil, s.states
	s.told, s.states = true, nil
	s.mu.Unlock()
	if some := s.reachable(peer, sessions); !told && (len(some) > 0 || s.knows || peer.MayReach(s.l.Project, "")) {
		if err := s.sendJSON(ctx, peer, Hello, some); err != nil {
			s.mu.Lock()
			s.told, s.states = false, append(states, s.states...)
			s.mu.Unlock()
			return err
		}
		s.knows = len(some) > 0
	}
	if len(states) == 0 {
		return nil
	}
	err := s.sendJSON(ctx, peer, States, states)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.states = append(states, s.states...)
		return err
	}
	for _, st := range states {
		s.unsure = append(s.unsure, sentState{s.l.Now(), st})
	}
	s.unsure = slices.Clone(s.unsure[max(len(s.unsure)-mostStates, 0):])
	return nil
}

// reachable returns the sessions to which a peer may write. The peer is told of no other sessions.
func (s *sender) reachable(peer Host, all []cache.HeardSession) []cache.HeardSession {
	some := []cache.HeardSession{}
	for _, one := range all {
		if peer.MayReach(s.l.Project, one.Alias) {
			some = append(some, one)
		}
	}
	return some
}

func (s *sender) sendJSON(ctx context.Context, peer Host, kind Kind, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	s.serial++
	packet, err := pack(s.l.Peers, peer, header{kind: kind, project: s.l.Project, epoch: s.head.Run, number: s.serial}, body)
	if err != nil {
		return err
	}
	return s.l.Carrier.Send(ctx, s.l.peer, packet)
}

// hello records the sessions of a peer.
func (l *line) hello(h header, sealed []byte) error {
	var there []cache.HeardSession
	if err := l.unsealJSON(h, sealed, &there); err != nil {
		return err
	}
	now := mail.Seconds(l.Now())
	isNew, isAnew := false, false
	err := l.change(func(host *cache.HeardHost) {
		isNew, isAnew = h.epoch > host.Run || h.epoch == host.Run && h.number > host.Serial, h.epoch > host.Run
		host.Seen = max(host.Seen, now)
		if isNew {
			host.Run, host.Serial, host.Sessions, host.Absent = h.epoch, h.number, there, false
		}
	})
	if err != nil || !isNew {
		return err
	}
	if isAnew { // the peer's relay was restarted, and may not know our sessions
		l.out.mu.Lock()
		l.out.told = false
		l.out.mu.Unlock()
	}
	l.out.receipt(receipt{hello: true})
	return nil
}

// change changes what is recorded of the peer. Only this process does, because it has the lock of
// the peer.
func (l *line) change(change func(h *cache.HeardHost)) error {
	l.seen.file.Lock()
	defer l.seen.file.Unlock()
	return cache.ChangeHeard(l.Root, l.peer, change)
}

// states records the states of messages at a peer.
func (l *line) states(h header, sealed []byte) error {
	var states []cache.HeardState
	if err := l.unsealJSON(h, sealed, &states); err != nil {
		return err
	}
	now := mail.Seconds(l.Now())
	states = states[:min(len(states), mostStates)]
	for i := range states {
		states[i].At = ago(now, states[i].At)
	}
	return cache.AddStates(l.Root, l.peer, states)
}

// ago returns the time that is the given number of seconds before now.
func ago(now, seconds float64) float64 { return now - math.Min(math.Max(seconds, 0), now) }

func (l *line) unsealJSON(h header, sealed []byte, into any) error {
	body, err := unseal(l.Peers, h, sealed)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: its body is not JSON", errForeign)
	}
	return nil
}

// deadAfter is how long ssh may keep a link whose other end is silent: three probes, 15 seconds
// apart, and 15 seconds for the last answer.
const deadAfter = time.Minute

// shownLink is the part of a peer's state that c2c list shows.
type shownLink struct{ up, hub, dials, absent bool }

// noteLink records for c2c list whether there is a link to a peer, and whether the peer lacks this
// project.
func (s *sender) noteLink(now phase) {
	way := s.l.Way(s.l.peer)
	up := now != away && (way.Hub || !s.l.isSilent())
	link := shownLink{up, way.Hub, way.Dials, now == absent || now != sending && s.noted.absent}
	if s.noted == link {
		return
	}
	at := s.l.lastHeard()
	switch now := s.l.Now(); {
	case way.Hub:
	case up:
		at = now
	case s.noted.up && s.noted.dials && now.Add(-deadAfter).After(at):
		at = now.Add(-deadAfter) // the peer answered ssh at least until then
	}
	s.noted = link
	err := s.l.change(func(h *cache.HeardHost) {
		h.Linked, h.Hub, h.Dials, h.Absent = up, way.Hub, way.Dials, link.absent
		if !at.IsZero() {
			h.Seen = max(h.Seen, mail.Seconds(at))
		}
	})
	if err != nil {
		s.l.Log.Warn("the state of a host was not recorded", "host", s.l.peer, "err", err)
	}
}
