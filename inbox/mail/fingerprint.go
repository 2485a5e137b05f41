package mail

import (
	"crypto/sha256"
	"fmt"
)

// Fingerprint identifies a message that moves from file to file, or from one mailbox to another.
type Fingerprint [16]byte

// Fingerprint returns the same value wherever the message is. Equal messages without an id have the
// same fingerprint.
func (m Message) Fingerprint() (t Fingerprint) {
	k := m.RecordKey()
	if m.IsUnnamed() {
		k.ID = "" // c2c makes such an id from the time, and the OCaml c2c's archive has no id
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %x", k.From, m.To, k.ID, sha256.Sum256([]byte(k.What))))
	copy(t[:], sum[:])
	return t
}
