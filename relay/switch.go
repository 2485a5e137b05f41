package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Switch passes the packets of one carrier to the relays of several roots. It remembers which peers have a link, because it must also
// report these links to a relay that is added later.
type Switch struct {
	mu     sync.Mutex
	relays map[string]*Relay // by project
	up     map[string]bool
}

// Add makes the switch pass packets to r if they are for r's project. It returns an error if the project has a relay already.
func (s *Switch) Add(r *Relay) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relays[r.Project] != nil {
		return fmt.Errorf("project %s has a relay already", r.Project)
	}
	if s.relays == nil {
		s.relays = map[string]*Relay{}
	}
	s.relays[r.Project] = r
	for peer, up := range s.up {
		if up {
			r.Link(peer, true)
		}
	}
	return nil
}

// Remove undoes Add.
func (s *Switch) Remove(r *Relay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.relays, r.Project)
}

// ErrNoProject means that no root here has the project of a packet.
var ErrNoProject = errors.New("no such project here")

// Packet implements Handler, for a carrier.
func (s *Switch) Packet(ctx context.Context, packet []byte) error {
	to, err := LabelOf(packet)
	if err != nil {
		return nil // not a valid packet
	}
	s.mu.Lock()
	r := s.relays[to.Project]
	s.mu.Unlock()
	if r == nil {
		return fmt.Errorf("packet for project %s: %w", to.Project, ErrNoProject)
	}
	return r.Packet(ctx, packet)
}

// Link implements Handler, for a carrier.
func (s *Switch) Link(peer string, up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.up == nil {
		s.up = map[string]bool{}
	}
	s.up[peer] = up
	for _, r := range s.relays {
		r.Link(peer, up)
	}
}
