package main

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/wake"
	"c2c/wake/watch"
)

const ringPairs = 300

// bell records when it was rung.
type bell chan time.Time

func (b bell) Ring(context.Context, wake.Notice) error {
	b <- time.Now()
	return nil
}

// rings compares how long after the release of a mailbox's lock its session is rung with how long after
// the release of another lock the kernel's own event is read.
func (w world) rings() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	box, err := inbox.Open(w.dir, "amber", inbox.Config{})
	if err != nil {
		return err
	}
	if _, err := box.Drain(ctx, "bench"); err != nil {
		return err
	}
	rung := make(bell, 1)
	clock := time.Now()
	watcher := &watch.Watcher{Box: box, Lock: filepath.Join(w.root, box.LockName()),
		Methods: []wake.Method{{Name: "bench", Doorbell: rung}},
		Now:     func() time.Time { clock = clock.Add(time.Hour); return clock }} // no ring is too soon
	raw, err := w.rawLimit()
	if err != nil {
		return err
	}
	changes := watch.NewChanges()
	defer changes.Close()
	ended := make(chan error)
	go func() { ended <- watcher.Run(ctx, changes) }()

	f := figure{what: "lock release to Ring (300 pairs, in process)", limit: "raw inotify read", aim: "1.5"}
	f, err = f.measure(ringPairs, func() (float64, error) { return w.ringOnce(box, rung) }, raw.once)
	cancel()
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	f.print()
	return nil
}

// ringOnce puts a message where it belongs, as a sender that holds the lock does, and lets the lock go.
func (w world) ringOnce(box *inbox.Mailbox, rung bell) (float64, error) {
	ctx := context.Background()
	lock, err := filelock.Acquire(ctx, w.dir, box.LockName())
	if err != nil {
		return 0, err
	}
	message := `{"from_alias":"birch","to_alias":"amber","content":"hello","ts":1.5,"message_id":"` + inbox.NewID(time.Now()) + `"}`
	if err := w.dir.Write("amber.inbox.json", []byte("[\n"+message+"\n]\n")); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := lock.Release(); err != nil {
		return 0, err
	}
	took := (<-rung).Sub(start)
	_, err = box.Drain(ctx, "bench")
	return float64(took) / float64(time.Millisecond), err
}

// rawLimit is a thread that reads the events of another mailbox's lock and does nothing else.
type rawLimit struct {
	dir  *atomicfile.Dir
	read chan time.Time
}

const rawLock = "dune.inbox.lock"

func (w world) rawLimit() (*rawLimit, error) {
	lock, err := filelock.Acquire(context.Background(), w.dir, rawLock) // makes the file
	if err != nil {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if _, err := unix.InotifyAddWatch(fd, filepath.Join(w.root, rawLock), unix.IN_CLOSE_WRITE); err != nil {
		return nil, err
	}
	r := &rawLimit{w.dir, make(chan time.Time, 1)}
	go func() { // until the program ends
		runtime.LockOSThread()
		buf := make([]byte, 4096)
		for {
			if _, err := unix.Read(fd, buf); err != nil {
				close(r.read)
				return
			}
			r.read <- time.Now()
		}
	}()
	if err := lock.Release(); err != nil {
		return nil, err
	}
	<-r.read
	return r, nil
}

func (r *rawLimit) once() (float64, error) {
	lock, err := filelock.Acquire(context.Background(), r.dir, rawLock)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := lock.Release(); err != nil {
		return 0, err
	}
	at, ok := <-r.read
	if !ok {
		return 0, errors.New("the read has failed")
	}
	return float64(at.Sub(start)) / float64(time.Millisecond), nil
}
