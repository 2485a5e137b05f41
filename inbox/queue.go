package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
)

// Senders that find the mailbox locked combine their commits. Each queues its
// messages, in a file of its own in the lease directory, and whoever gets the
// lock next stores them with its own in one write:
//
//	<sid>.lease/.queued-<unix ns>-<pid>   a mailbox file, locked by its sender
//
// Nothing about a queued file is synced, and nobody takes it for a message: its
// sender has not been told that anything is stored. It gets its name when it is
// whole and locked. One without a lock was left by a sender that died, or by a
// power cut, and whoever has the lock of the mailbox removes it.
//
// Who stores the messages claims the file first, by removing its name: only one
// can, and a sender that gives up is one of them. It signs the file, which the
// sender still has open, once the messages are durable. So the sender knows from
// its own file what became of it:
//
//   - signed: stored
//   - the name is there: nobody has touched it
//   - the name is gone and nobody signed, though the sender has the lock: who
//     claimed it was killed, before or after its commit, or could not store it. The
//     sender looks for its ids, as for ids that it chose, and stores what is missing.
//
// The last case is why ephemeral messages are not queued: one that was stored,
// read and forgotten in between would not be found, and be stored again.
//
// A sender that waits looks at its own file and tries the lock, again and again. If
// it waited for the lock alone, it would have to be woken, one sender after
// another, to find its message stored.
const queuedPrefix = ".queued-" // hidden: the hook script takes what is not for mail

const (
	// maxBatch bounds what one sender stores for others, in bytes.
	maxBatch = 256 << 10
	// patience is how long a sender that should give up waits for the one that has its messages in hand, and may
	// be stopped. A commit takes less.
	patience = 500 * time.Millisecond
	// A sender that waits looks again after firstPause, and then less and less often.
	firstPause = 500 * time.Microsecond
	maxPause   = 8 * time.Millisecond
)

// queued is the file of a sender that waits.
type queued struct {
	dir  *atomicfile.Dir
	name string
	f    *atomicfile.Handle
}

// enqueue queues the messages. It returns nil when that failed, or when they must not be queued: ephemeral ones, and
// moved ones, which are compared in another way.
func (m *Mailbox) enqueue(d *delivery) *queued {
	data := encode(d.Messages)
	if len(data) > maxBatch || d.moved {
		return nil
	}
	for i, msg := range d.Messages {
		if msg.Ephemeral || d.chosen[i] != msg.HasChosenID() {
			return nil
		}
	}
	dir, err := m.root.Sub(m.LeaseName(), false)
	if err != nil {
		return nil
	}
	// The real clock, whatever m.now says: the name must be new.
	name := fmt.Sprintf("%s%d-%d", queuedPrefix, time.Now().UnixNano(), os.Getpid())
	q := &queued{dir: dir, name: atomicfile.TempName(name)}
	if q.f, err = dir.OpenHandle(q.name, os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
		dir.Close()
		return nil
	}
	if _, err = filelock.TryFile(q.f); err == nil {
		_, err = q.f.Write(data)
	}
	if err == nil {
		err = dir.Rename(q.name, name)
	}
	if err != nil { // perhaps a reader removed the file, because it had not got its name yet
		q.withdraw()
		q.close()
		return nil
	}
	q.name = name
	return q
}

func (q *queued) close() {
	q.f.Close()
	q.dir.Close()
}

// withdraw takes the messages back. It says whether nobody had claimed them.
func (q *queued) withdraw() bool { return q.dir.Remove(q.name) == nil }

// signStored replaces the first byte of a queued file when its messages are stored. No mailbox file begins with it.
const signStored = '+'

// signed says whether the sender that claimed the messages has stored them.
func (q *queued) signed() bool {
	var b [1]byte
	q.f.ReadAt(b[:], 0)
	return b[0] == signStored
}

// queue is for a sender that did not get the lock. It returns with the lock, unless another sender has stored
// the messages.
func (m *Mailbox) queue(ctx context.Context, lk *filelock.Lock, d *delivery) (stored bool, err error) {
	q := m.enqueue(d)
	if q == nil {
		return false, lk.Wait(ctx)
	}
	defer q.close()
	held, err := q.await(ctx, lk)
	if q.signed() { // whoever claimed the file has signed it by now, if we have the lock
		return true, nil
	}
	d.maybeStored = !q.withdraw()
	if d.maybeStored && !held && err == nil { // whoever has the messages may be about to store them
		var cancel func()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		held, err = q.await(ctx, lk)
		if q.signed() {
			return true, nil
		}
	}
	if err == nil && !held {
		err = lk.Wait(ctx)
	}
	if err != nil && d.maybeStored {
		err = d.mayBeStored(fmt.Errorf("%w; another sender has the message", err))
	}
	return false, err
}

// await returns with the lock, or without it when the file is signed or ctx ends.
func (q *queued) await(ctx context.Context, lk *filelock.Lock) (held bool, err error) {
	for pause := firstPause; !q.signed() && ctx.Err() == nil; pause = min(pause*3/2, maxPause) {
		if held, err = lk.Try(); held || err != nil {
			return held, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return false, nil
}

// openQueued returns nil unless name is the file of a live sender; that of a dead
// one it removes. The caller holds the lock.
func openQueued(dir *atomicfile.Dir, name string) *atomicfile.Handle {
	if !strings.HasPrefix(name, queuedPrefix) || atomicfile.IsTemp(name) {
		return nil
	}
	f, err := dir.OpenHandle(name, os.O_RDWR)
	if err != nil {
		return nil
	}
	free, err := filelock.FreeFile(f)
	if err == nil && !free {
		return f
	}
	if free {
		dir.Remove(name) // when it fails, the next one tries again
	}
	f.Close()
	return nil
}

// readQueued returns nothing unless the file is whole, small enough and good, with bodies of at most maxBody bytes.
func readQueued(f io.Reader, maxBody int) (msgs []mail.Message) {
	data, err := io.ReadAll(io.LimitReader(f, maxBatch+1))
	if err != nil || len(data) > maxBatch || json.Unmarshal(data, &msgs) != nil {
		return nil
	}
	for _, msg := range msgs {
		if msg.ID == "" || msg.Ephemeral || msg.CheckWithin(maxBody) != nil {
			return nil
		}
	}
	return msgs
}
