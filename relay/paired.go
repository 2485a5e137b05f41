package relay

import "crypto/ed25519"

// Peers has what the relay must know: this host's key, and the list of the paired hosts. The relay
// looks into the list again for each packet, so that a revocation counts at once. If the list
// cannot be read, no host counts as paired. Any goroutine may use it.
type Peers struct {
	Key  *Key
	List *HostList
}

// Peer finds a paired host by name, even if it is revoked.
func (p Peers) Peer(name string) (Host, bool) {
	h, err := p.List.ByName(name)
	return h, err == nil
}

// PeerOf finds a paired host by the signing half of its key, even if it is revoked.
func (p Peers) PeerOf(key ed25519.PublicKey) (Host, bool) {
	h, err := p.List.BySigningKey(key)
	return h, err == nil
}
