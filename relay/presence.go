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

// mostStates is how many states a packet has, and how many wait for a link.
const mostStates = 1000

// beside is what is sent beside mail. It need not arrive: the last of a kind, or nothing, is right, too.
type beside struct {
	serial   uint64 // of the last packet of this run
	sessions []cache.Session
	told     bool // the peer was sent these sessions on this link
	states   []cache.State
}

// Announce tells all peers which sessions there are. Active says how many seconds ago each did something. Call it on changes only:
// each call that says something new is a packet for each peer.
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

// Report tells a peer what became of its messages. At says how many seconds ago. While there is no link the last ones wait.
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

// sendBeside sends what is new beside mail.
func (s *sender) sendBeside(ctx context.Context, peer Peer) error {
	s.mu.Lock()
	sessions, told, states := s.sessions, s.told || s.sessions == nil, s.states
	s.told, s.states = true, nil
	s.mu.Unlock()
	var err error
	if !told {
		err = s.sendJSON(ctx, peer, Hello, sessions)
	}
	if err == nil && len(states) > 0 {
		if err = s.sendJSON(ctx, peer, States, states); err != nil {
			s.report(states)
		}
	}
	return err
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

// hello notes which sessions a peer has.
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

// states notes what became of messages at a peer.
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

// ago is a time so many seconds before now.
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

// noteLink has c2c list show whether a peer is within reach.
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
