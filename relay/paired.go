package relay

import (
	"crypto/ed25519"
)

// Paired returns the hosts of a list as Peers, for the host with this key. If the list cannot be
// read, no host counts as paired.
func Paired(key *Key, list *HostList) Peers { return &paired{key, list} }

type paired struct {
	key  *Key
	list *HostList
}

func (p *paired) Key() ed25519.PublicKey             { return p.key.Public().SigningKey() }
func (p *paired) Sign(data []byte) []byte            { return p.key.Sign(data) }
func (p *paired) Open(sealed []byte) ([]byte, error) { return p.key.Open(sealed, MaxPacket) }

func (p *paired) Peer(name string) (Peer, bool) {
	h, err := p.list.ByName(name)
	return pairedHost{h}, err == nil
}

func (p *paired) PeerOf(key ed25519.PublicKey) (Peer, bool) {
	h, err := p.list.BySigningKey(key)
	return pairedHost{h}, err == nil
}

// pairedHost is a row of the list, as a Peer.
type pairedHost struct{ Host }

func (h pairedHost) Name() string                      { return h.Host.Name }
func (h pairedHost) Key() ed25519.PublicKey            { return h.Host.Key.SigningKey() }
func (h pairedHost) Seal(plain []byte) ([]byte, error) { return h.Host.Key.Seal(plain) }
func (h pairedHost) Revoked() bool                     { return h.Host.Revoked != 0 }
