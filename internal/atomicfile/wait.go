package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Wait waits for the lock until ctx ends. After an error the lock file is closed.
//
// It waits in the kernel: a process that tries again and again hardly ever finds a lock free that
// another process releases and takes again at once.
func (l *Lock) Wait(ctx context.Context) error {
	held, err := l.Try()
	for err == nil && !held {
		if err = l.waitInKernel(ctx); err == nil {
			held, err = l.Try() // it also opens the file anew if it was removed
		}
	}
	if err != nil {
		l.Release()
		l.f = nil
	}
	return err
}

// A kernelWait is a goroutine that waits in the kernel for the lock of the file f. Go cannot
// interrupt it, because the runtime installs its signal handlers with SA_RESTART.
type kernelWait struct {
	f    *Handle
	done chan error  // gets nil when f has the lock
	next *kernelWait // in the list abandoned
}

// abandoned is a list of the waits of this process whose callers gave up. The next caller that
// waits for the same file takes such a wait over. So a daemon that waits again and again for the
// lock of a suspended process keeps one thread and one descriptor, and not more each time.
var abandoned struct {
	sync.Mutex
	first *kernelWait
}

// waitInKernel returns nil when the file has the lock.
func (l *Lock) waitInKernel(ctx context.Context) error {
	began := time.Now()
	if ctx.Err() != nil {
		return l.timeout(ctx, began)
	}
	w := startOrTakeOver(l.f)
	l.f = w.f
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		w.abandon()
		l.f = nil
		return l.timeout(ctx, began)
	}
}

// startOrTakeOver takes over an abandoned wait for the file f, and then closes f. If there is none,
// it starts a wait.
func startOrTakeOver(f *Handle) *kernelWait {
	abandoned.Lock()
	w := abandoned.first
	for w != nil && (w.f.Name() != f.Name() || w.f.inode != f.inode) {
		w = w.next
	}
	if w != nil {
		w.takeOver()
		f.Close()
	} else {
		w = &kernelWait{f: f, done: make(chan error, 1)}
		go w.run()
	}
	abandoned.Unlock()
	return w
}

// takeOver removes w from the list abandoned. It returns false if w is not in the list.
func (w *kernelWait) takeOver() bool {
	for at := &abandoned.first; *at != nil; at = &(*at).next {
		if *at == w {
			*at = w.next
			return true
		}
	}
	return false
}

func (w *kernelWait) run() {
	err := fcntl(w.f, setLockWait, unix.F_WRLCK)
	abandoned.Lock()
	if w.takeOver() {
		w.f.Close()
	} else {
		w.done <- err
	}
	abandoned.Unlock()
}

func (w *kernelWait) abandon() {
	abandoned.Lock()
	if len(w.done) > 0 { // it has just ended
		w.f.Close()
	} else {
		w.next, abandoned.first = abandoned.first, w
	}
	abandoned.Unlock()
}

// timeout returns the error for a wait that has ended without the lock.
func (l *Lock) timeout(ctx context.Context, began time.Time) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		waited := time.Since(began).Round(100 * time.Millisecond)
		return fmt.Errorf("lock %q: %w%s; waited %v", l.Path(), ErrLockTimeout, holder(l.Path()), waited)
	}
	return fmt.Errorf("lock %q: %w (%v)", l.Path(), ErrLockTimeout, cause) // a caller that cancels does not need the name of the holder
}

// WaitUnless tries again after firstPause, and then after longer and longer pauses, up to maxPause.
const (
	firstPause = 500 * time.Microsecond
	maxPause   = 4 * time.Millisecond
)

// WaitUnless tries to get the lock again and again until ctx ends, or until stop returns true. It
// does not close the lock file.
func (l *Lock) WaitUnless(ctx context.Context, stop func() bool) (held bool, err error) {
	for pause := firstPause; !stop(); pause = min(pause*3/2, maxPause) {
		if held, err = l.Try(); held || err != nil {
			return held, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, nil
		}
	}
	return false, nil
}
