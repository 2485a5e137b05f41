package inbox

import (
	"fmt"

	"c2c/inbox/digest"
)

// Fingerprint tells messages apart for who follows them from file to file, and from one mailbox to another.
type Fingerprint [16]byte

// Fingerprint is the same wherever the message is. What has no id counts as one message with all that are equal to it.
func (m Message) Fingerprint() (t Fingerprint) {
	k := m.recordKey()
	if m.IsUnnamed() {
		k.id = "" // the original's archive has no time, of which such an id is made
	}
	sum := digest.Sum256(fmt.Appendf(nil, "%q %q %q %x", k.from, m.To, k.id, digest.Sum256([]byte(k.what))))
	copy(t[:], sum[:])
	return t
}
