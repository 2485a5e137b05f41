package main

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"c2c/inbox"
	"c2c/inbox/filelock"
	"c2c/wake"
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
	watcher := &wake.Watcher{Box: box, Lock: filepath.Join(w.root, box.LockName()),
		Methods: []wake.Method{{Name: "bench", Doorbell: rung}},
		Now:     func() time.Time { clock = clock.Add(time.Hour); return clock }} // no ring is too soon
	changes := wake.NewChanges()
	defer changes.Close()
	ended := make(chan error)
	go func() { ended <- watcher.Run(ctx, changes) }()

	f := figure{what: "lock release to Ring (300 pairs, in one process)", limit: "raw inotify read", aim: "1.5"}
	f, err = f.measure(ringPairs, func() (float64, error) { return w.ringOnce(box, rung) }, w.rawOnce)
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

// rawOnce releases another mailbox's lock before a thread that waits for nothing else.
func (w world) rawOnce() (float64, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	lock, err := filelock.Acquire(context.Background(), w.dir, "dune.inbox.lock")
	if err != nil {
		return 0, err
	}
	if _, err := unix.InotifyAddWatch(fd, filepath.Join(w.root, "dune.inbox.lock"), unix.IN_CLOSE_WRITE); err != nil {
		return 0, err
	}
	type event struct {
		at  time.Time
		err error
	}
	read := make(chan event, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_, err := unix.Read(fd, make([]byte, 4096))
		read <- event{time.Now(), err}
	}()
	time.Sleep(time.Millisecond) // it waits in the kernel
	start := time.Now()
	if err := lock.Release(); err != nil {
		return 0, err
	}
	e := <-read
	return float64(e.at.Sub(start)) / float64(time.Millisecond), e.err
}
