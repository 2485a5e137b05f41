package events

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"c2c/permission"
	"c2c/process/survive"
	"c2c/serve"
	"c2c/wake/watch"
)

// sessionTables has a table for each root that has listeners.
type sessionTables struct {
	log *slog.Logger
	mu  sync.Mutex
	all map[*serve.OpenRoot]*sessionTable
}

// sessionTable is what the listeners of a root share: one look at its permission requests, and whose turn it is to take the mail of
// a sender. It is there while there is a listener.
type sessionTable struct {
	place *serve.OpenRoot
	log   *slog.Logger
	users int
	stop  context.CancelFunc
	looks sync.WaitGroup

	mu       sync.Mutex
	requests []permission.Request
	turn     chan struct{}   // closed when requests have changed, or a mailbox is free, and replaced
	taken    map[string]bool // the sessions whose mail a listener has in hand; true: another one wants it
	frees    int             // how often a listener had some no more in hand
}

// of gives the table of a root, and what to do when it is not needed any more.
func (d *sessionTables) of(place *serve.OpenRoot) (one *sessionTable, leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one = d.all[place]
	if one == nil {
		ctx, stop := context.WithCancel(context.Background())
		one = &sessionTable{place: place, log: d.log, stop: stop, turn: make(chan struct{}), taken: map[string]bool{}}
		d.all[place] = one
		one.look(ctx) // once before anybody asks
		one.looks.Go(func() { survive.Loop(ctx, d.log, "follow permission requests", func() { one.follow(ctx) }) })
	}
	one.users++
	return one, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(d.all, place)
			one.stop()
			one.looks.Wait()
		}
	}
}

// lookGap is between two looks at the requests.
const lookGap = 50 * time.Millisecond

// follow looks at the requests whenever one has changed, or has waited too long.
func (d *sessionTable) follow(ctx context.Context) {
	changes := watch.NewChanges()
	defer changes.Close()
	changes.Each(ctx, lookGap, func() (files []string, wait time.Duration, err error) {
		if next := d.look(ctx); !next.IsZero() {
			wait = max(0, time.Until(next)) + time.Second
		}
		return []string{d.place.Permission.LockPath()}, wait, nil
	})
}

// look reads the requests, and says when the next one of them has waited too long; now, if they cannot be read.
func (d *sessionTable) look(ctx context.Context) (next time.Time) {
	var all []permission.Request
	err := survive.Call(d.log, "read permission requests", func() (err error) {
		all, err = d.place.Permission.List(ctx)
		return err
	})
	if err != nil {
		return time.Now() // it looks again in a second; what is known stays
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !reflect.DeepEqual(all, d.requests) {
		d.requests = all
		d.tell()
	}
	return permission.Until(all)
}

// tell is called with the lock.
func (d *sessionTable) tell() {
	close(d.turn)
	d.turn = make(chan struct{})
}

// now gives the requests, and what is closed when they have changed.
func (d *sessionTable) now() ([]permission.Request, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests, d.turn
}

// take says whether the mail of a session is the caller's to hand over, until free. One at a time does that, so that the
// answers come in one order. If it is false, the listener is told when it may try again.
func (d *sessionTable) take(sid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, is := d.taken[sid]; is {
		d.taken[sid] = true
		return false
	}
	d.taken[sid] = false
	return true
}

// freed is how often a listener had mail no more in hand, see nothing.
func (d *sessionTable) freed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.frees
}

// nothing reports whether the mailbox is still empty since freed was read. False means that another listener has put mail back
// meanwhile, so look again. If another listener has mail in hand now, the caller is told when that is put back.
func (d *sessionTable) nothing(sid string, freed int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, is := d.taken[sid]; is {
		d.taken[sid] = true
		return true
	}
	return d.frees == freed
}

func (d *sessionTable) free(sid string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frees++
	wanted := d.taken[sid]
	if delete(d.taken, sid); wanted {
		d.tell()
	}
}
