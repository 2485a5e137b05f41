package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

const (
	// receiptTime is how long carried messages may take to come back through a hook of an idle client.
	receiptTime = 15 * time.Second
	// busyTime is how long they may take while the client is busy. It takes what it was sent when its tool call
	// ends. Mail that was given back before would be shown twice then, by that call's hook too.
	busyTime = 10 * time.Minute
)

// Receipt waits until a hook of the client has archived messages that it was seen to have, and returns
// the ids of those; the mark was taken before they were carried. None is an wake.ErrUncaptured. busy says whether
// the client works; nil: never.
func Receipt(ctx context.Context, box *inbox.Mailbox, root string, mark inbox.Mark, ids []string, busy func() bool) (had []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	changes := NewChanges()
	defer changes.Close()
	for late := true; late; late = late && ctx.Err() == nil && busy != nil && busy() {
		brief, stop := context.WithTimeout(ctx, receiptTime)
		err = changes.Until(brief, filepath.Join(root, box.ArchiveLock()), func() (bool, error) {
			got, err := box.ArchivedSince(mark)
			had = had[:0]
			for _, id := range ids {
				if got[id] {
					had = append(had, id)
				}
			}
			return len(had) == len(ids), err
		})
		late = brief.Err() != nil
		stop()
		if len(had) > 0 {
			return had, nil
		}
		if late {
			err = fmt.Errorf("%w: no sign that it has the messages within %v", wake.ErrUncaptured, receiptTime)
		}
	}
	return nil, err
}
