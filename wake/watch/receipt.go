package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

// receiptTime is how long carried messages may take to come back through a hook.
const receiptTime = 15 * time.Second

// Receipt waits until a hook of the client has archived messages that it was seen to have, and returns
// the ids of those; the mark was taken before they were carried. None is an wake.ErrUncaptured.
func Receipt(ctx context.Context, box *inbox.Mailbox, root string, mark inbox.Mark, ids []string) (had []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	changes := NewChanges()
	defer changes.Close()
	err = changes.Until(ctx, filepath.Join(root, box.ArchiveLock()), func() (bool, error) {
		got, err := box.ArchivedSince(mark)
		had = had[:0]
		for _, id := range ids {
			if got[id] {
				had = append(had, id)
			}
		}
		return len(had) == len(ids), err
	})
	if len(had) > 0 {
		return had, nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: no sign that it has the messages within %v", wake.ErrUncaptured, receiptTime)
	}
	return nil, err
}
