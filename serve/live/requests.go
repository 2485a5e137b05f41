// This part follows the permission requests of a root.

package live

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"c2c/internal/daemon"
	"c2c/sessions/permission"
	"c2c/wake/watch"
)

// RequestList follows the permission requests of a root: it reads them again after each change,
// once for all streams that show them. It begins at the first call of Now. Any goroutine may use
// it.
type RequestList struct {
	store *permission.Store
	log   *slog.Logger
	begin sync.Once
	began chan struct{} // closed at the first call of Now

	mu      sync.Mutex
	all     []permission.Request
	changed chan struct{} // closed and replaced when the list all has changed
}

// NewRequestList makes a RequestList. It follows changes while Follow runs.
func NewRequestList(store *permission.Store, log *slog.Logger) *RequestList {
	return &RequestList{store: store, log: log, began: make(chan struct{}), changed: make(chan struct{})}
}

// Now returns the requests, see permission.Store.List. The channel changed is closed when the list
// changes. Callers must not modify the list.
func (q *RequestList) Now() (all []permission.Request, changed <-chan struct{}) {
	q.begin.Do(func() {
		q.read(context.Background())
		close(q.began)
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.all, q.changed
}

// gap is the shortest time between two reads of the requests.
const gap = 50 * time.Millisecond

// Follow reads the requests again whenever one has changed or expires, until ctx ends.
func (q *RequestList) Follow(ctx context.Context) {
	select {
	case <-q.began:
	case <-ctx.Done():
		return
	}
	changes := watch.NewChanges()
	defer changes.Close()
	changes.Each(ctx, gap, func() (files []string, wait time.Duration, err error) {
		if next := q.read(ctx); !next.IsZero() {
			wait = max(time.Second, time.Until(next))
		}
		return []string{q.store.LockPath()}, wait, nil
	})
}

// read reads the requests. It returns the time at which the next request expires, zero if none will
// expire. On an error it keeps the last list and returns the present time, so that Follow soon
// tries again.
func (q *RequestList) read(ctx context.Context) (next time.Time) {
	var all []permission.Request
	err := daemon.Survive(q.log, "read permission requests", func() (err error) {
		all, err = q.store.List(ctx)
		return err
	})
	if err != nil {
		return time.Now()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !reflect.DeepEqual(all, q.all) {
		q.all = all
		close(q.changed)
		q.changed = make(chan struct{})
	}
	return permission.Until(all)
}
