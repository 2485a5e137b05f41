package inbox

import (
	"context"
)

// MergeInto ends an empty mailbox: its archive goes to the mailbox of the same session in another root, and what else it has is
// removed, as Discard does it. gone is false while something waits or somebody has one of the locks. Whoever is killed in between
// leaves records in both archives, and the next one adds none twice.
func (m *Mailbox) MergeInto(ctx context.Context, to *Mailbox, more ...Entry) (gone bool, err error) {
	_, gone, err = m.discard(false, func() error { return to.archive.Take(ctx, m.archive) }, more...)
	return gone, err
}
