package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/wake"
	"c2c/wake/watch"
)

// bell is a doorbell that receives the time of each ring.
type bell chan time.Time

func (b bell) Ring(context.Context, wake.Notice) error {
	b <- time.Now()
	return nil
}

// bells holds a watcher of amber's mailbox, and a thread that follows the file of another mailbox.
type bells struct {
	dir  *atomicfile.Dir
	lock string
	rung bell
	raw  *rawLimit
}

// ringRows compare two times. One is from the release of a mailbox's lock until a watcher rings its
// session. The other is from the release of another lock until a thread has read the kernel's
// event, and the file that this lock guards.
func ringRows() []row {
	return []row{{name: "lock release to Ring, in process", limit: "raw inotify read, then lock and JSON decode", aim: 4, with: withBells,
		do:      func(w *world) ([]float64, error) { return one(ringOnce(w.bells.dir, w.bells.lock, w.bells.rung)) },
		against: func(w *world) ([]float64, error) { return one(w.bells.raw.once()) }}}
}

func withBells(w *world) error {
	dir, err := atomicfile.Open(w.root)
	if err != nil {
		return err
	}
	box, err := inbox.Open(dir, "amber", inbox.Config{})
	if err != nil {
		return err
	}
	// A watcher whose lock file does not exist looks once a second.
	lock, err := atomicfile.Acquire(context.Background(), dir, box.LockName())
	if err != nil {
		return err
	}
	if err := lock.Release(); err != nil {
		return err
	}
	raw, err := newRawLimit(w.root, dir)
	if err != nil {
		return err
	}
	w.bells = &bells{dir, box.LockName(), make(bell, 1), raw}
	clock := time.Now()
	watcher := &watch.Watcher{Box: box, Lock: filepath.Join(w.root, box.LockName()),
		Methods: []wake.Method{{Name: "bench", Doorbell: w.bells.rung}},
		Now:     func() time.Time { clock = clock.Add(time.Hour); return clock }} // so that no ring comes too soon
	ctx, cancel := context.WithCancel(context.Background())
	changes := watch.NewChanges()
	ended := make(chan error)
	go func() { ended <- watcher.Run(ctx, changes) }()
	w.running = append(w.running, func() error {
		cancel()
		err := <-ended
		changes.Close()
		return errors.Join(err, dir.Close())
	})
	return nil
}

// ringOnce stores a message as a sender does, releases the lock, waits for the ring, and removes
// the message again. It returns the time from the release to the ring, in milliseconds.
func ringOnce(dir *atomicfile.Dir, lockName string, rung bell) (float64, error) {
	message := `{"from_alias":"birch","to_alias":"amber","content":"hello","ts":1.5,"message_id":"` + mail.NewID(time.Now()) + `"}`
	start, err := replaceInbox(dir, lockName, "[\n"+message+"\n]\n")
	if err != nil {
		return 0, err
	}
	took := (<-rung).Sub(start)
	_, err = replaceInbox(dir, lockName, "[]\n")
	return float64(took) / float64(time.Millisecond), err
}

// replaceInbox writes amber's mailbox under its lock. It returns the time right before it releases
// the lock.
func replaceInbox(dir *atomicfile.Dir, lockName, text string) (time.Time, error) {
	lock, err := atomicfile.Acquire(context.Background(), dir, lockName)
	if err != nil {
		return time.Time{}, err
	}
	err = dir.Write("amber.inbox.json", []byte(text))
	released := time.Now()
	return released, errors.Join(err, lock.Release())
}

// rawLimit is a thread that waits for the kernel's event about another mailbox's lock, and then
// reads the mailbox under that lock.
type rawLimit struct {
	dir  *atomicfile.Dir
	read chan time.Time
}

const (
	rawLock  = "dune.inbox.lock"
	rawInbox = "dune.inbox.json"
)

func newRawLimit(root string, dir *atomicfile.Dir) (*rawLimit, error) {
	message := `{"from_alias":"birch","to_alias":"dune","content":"hello","ts":1.5,"message_id":"` + mail.NewID(time.Now()) + `"}`
	if err := dir.Write(rawInbox, []byte("[\n"+message+"\n]\n")); err != nil {
		return nil, err
	}
	lock, err := atomicfile.Acquire(context.Background(), dir, rawLock) // makes the file
	if err != nil {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if _, err := unix.InotifyAddWatch(fd, filepath.Join(root, rawLock), unix.IN_CLOSE_WRITE); err != nil {
		return nil, err
	}
	r := &rawLimit{dir, make(chan time.Time, 1)}
	go func() { // until the program ends
		runtime.LockOSThread()
		defer close(r.read)
		buf := make([]byte, 4096)
		for {
			if _, err := unix.Read(fd, buf); err != nil || r.look() != nil {
				return
			}
			at := time.Now()
			if _, err := unix.Read(fd, buf); err != nil { // look itself also causes an event
				return
			}
			r.read <- at
		}
	}()
	if err := lock.Release(); err != nil {
		return nil, err
	}
	<-r.read
	return r, nil
}

// look reads the waiting mail.
func (r *rawLimit) look() error {
	lock, err := atomicfile.Acquire(context.Background(), r.dir, rawLock)
	if err != nil {
		return err
	}
	data, err := r.dir.ReadIf(rawInbox)
	var msgs []mail.Message
	if err == nil {
		err = json.Unmarshal(data, &msgs)
	}
	return errors.Join(err, lock.Release())
}

func (r *rawLimit) once() (float64, error) {
	lock, err := atomicfile.Acquire(context.Background(), r.dir, rawLock)
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
