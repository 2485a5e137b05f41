package moves

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"c2c/inbox"
	"c2c/sessions"
)

// TakeSpills puts the mail that an old version has left beside the mailboxes into the mailboxes (inbox.Mailbox.TakeSpill). If it cannot
// read a mailbox, it goes on with the others.
func TakeSpills(ctx context.Context, reg *sessions.Registry) error {
	names, err := reg.Dir().Names()
	if err != nil {
		return err
	}
	var errs []error
	for _, sid := range inbox.Spills(names) {
		box, err := reg.Mailbox(sid)
		n := 0
		if err == nil {
			n, err = box.TakeSpill(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("mail of an old version for session %q: %w", sid, err))
		}
		if n > 0 {
			reg.Events.Record(ctx, "spill", "session_id", sid, "messages", strconv.Itoa(n))
		}
	}
	return errors.Join(errs...)
}
