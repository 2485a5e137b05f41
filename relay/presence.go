package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"c2c/inbox/mail"
	"c2c/relay/cache"
)

// mostStates bounds the states in a packet, and those that wait for a link.
const mostStates = 1000

// beside is what a sender sends besides mail. Packets of it may get lost: the receiver needs only the last of each kind, or none.
type beside struct {
	serial   uint64 // of the last packet of this run
	sessions []cache.Session
	told     bool // these sessions were sent on this link
	states   []cache.State
}

// Announce sends the present sessions to all peers. Active is how many seconds ago each session was active. Call it on changes
// only: each call with a change costs a packet for each peer.
func (r *Relay) Announce(sessions []cache.Session) {
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

// Report sends a peer the states of its messages. At is how many seconds ago. Without a link, the last ones wait.
func (r *Relay) Report(peer string, states []cache.State) {
	if l := r.lineOf(peer); l != nil {
		l.out.report(states)
	}
}

func (s *sender) announce(sessions []cache.Session) {
	s.mu.Lock()
	s.sessions, s.told = sessions, false
	s.mu.Unlock()
	s.look()
}

func (s *sender) report(states []cache.State) {
	s.mu.Lock()
	s.states = append(s.states, states...)
	s.states = slices.Clone(s.states[max(len(s.states)-mostStates, 0):])
	s.mu.Unlock()
	s.look()
}

// sendBeside sends new sessions and states.
func (s *sender) sendBeside(ctx context.Context, peer Peer) error {
	s.mu.Lock()
	sessions, told, states := s.sessions, s.told || s.sessions == nil, s.states
	s.told, s.states = true, nil
	s.mu.Unlock()
	var err error
	if !told {
		err = s.sendJSON(ctx, peer, Hello, s.reachable(peer, sessions))
	}
	if err == nil && len(states) > 0 {
		if err = s.sendJSON(ctx, peer, States, states); err != nil {
			s.report(states)
		}
	}
	return err
}

// reachable returns the sessions that a peer may write to. It learns of no others.
func (s *sender) reachable(peer Peer, all []cache.Session) []cache.Session {
	some := []cache.Session{}
	for _, one := range all {
		if peer.MayReach(s.l.Project, one.Alias) {
			some = append(some, one)
		}
	}
	return some
}

func (s *sender) sendJSON(ctx context.Context, peer Peer, kind Kind, what any) error {
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
	var sessions []cache.Session
	if err := l.unsealJSON(h, sealed, &sessions); err != nil {
		return err
	}
	now := mail.Seconds(l.Now())
	for i := range sessions {
		sessions[i].Active = ago(now, sessions[i].Active)
	}
	return cache.Change(context.Background(), l.Root, l.peer, func(host *cache.Host) {
		if h.epoch > host.Run || h.epoch == host.Run && h.number > host.Serial {
			host.Run, host.Serial, host.Seen, host.Sessions = h.epoch, h.number, now, sessions
		}
	})
}

// states records the states of messages at a peer.
func (l *line) states(h header, sealed []byte) error {
	var states []cache.State
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

// ago is the time that many seconds before now.
func ago(now, seconds float64) float64 { return now - math.Min(math.Max(seconds, 0), now) }

func (l *line) unsealJSON(h header, sealed []byte, into any) error {
	body, err := unseal(l.Peers, h, sealed)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: its body is no JSON", errForeign)
	}
	return nil
}

// noteLink records whether there is a link to a peer, for c2c list.
func (s *sender) noteLink(ctx context.Context, up bool) {
	if s.noted == up {
		return
	}
	s.noted = up
	err := cache.Change(ctx, s.l.Root, s.l.peer, func(h *cache.Host) { h.Linked, h.Seen = up, mail.Seconds(s.l.Now()) })
	if err != nil && !errors.Is(err, context.Canceled) {
		s.l.Log.Warn("a link is not shown", "host", s.l.peer, "err", err)
	}
}
