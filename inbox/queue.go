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

// Senders that find the mailbox locked combine their commits. Each queues its messages in a file of its own in the lease directory.
// The sender that gets the lock next stores all queued messages with its own, in one write:
//
//	<sid>.lease/.queued-<unix ns>-<pid>   a mailbox file, locked by its sender
//
// A queued file is not synced, and no reader takes it for mail: its sender has not reported its messages as stored. The file gets
// its name once it is complete and locked. A queued file without a lock was left by a dead sender or a power cut; the next process
// that has the lock of the mailbox removes it.
//
// Before a sender stores the messages of another sender, it claims their file by removing its name. Only one process can remove the
// name. A waiting sender that gives up tries to remove it, too. Once the messages are durable, the storing sender signs the file,
// which the waiting sender still has open. So the waiting sender knows from its own file what happened:
//
//   - signed: stored
//   - the name is there: no sender has claimed it
//   - the name is gone, there is no signature, and the waiting sender has the lock: the sender that claimed the file was killed,
//     before or after its commit, or could not store the messages. The waiting sender searches the mailbox for its ids, and stores
//     the messages that are missing.
//
// The last case is why ephemeral messages are not queued: if one was stored, read and forgotten in between, the sender would not
// find it and would store it again.
//
// A waiting sender checks its own file and tries the lock in turn. If it waited for the lock alone, the senders would have to wake
// one after another to find their messages stored.
const queuedPrefix = ".queued-" // hidden: the hook script takes other names for mail

const (
	// maxBatch bounds the bytes that one sender stores for others.
	maxBatch = 256 << 10
	// patience is how long a sender still waits after its time is over, if another sender has claimed its messages. A commit takes
	// less, but that other sender may be stopped.
	patience = 500 * time.Millisecond
	// A waiting sender looks again after firstPause, then less and less often.
	firstPause = 500 * time.Microsecond
	maxPause   = 8 * time.Millisecond
)

// queued is the file of a waiting sender.
type queued struct {
	dir  *atomicfile.Dir
	name string
	f    *atomicfile.Handle
}

// enqueue queues the messages. It returns nil if this failed, or if the messages must not be queued: ephemeral messages, and moved
// messages, which are compared in another way.
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
	if err != nil { // perhaps a process removed the file before it had its final name
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

// withdraw takes the messages back. It returns false if another sender has claimed them.
func (q *queued) withdraw() bool { return q.dir.Remove(q.name) == nil }

// signStored replaces the first byte of a queued file when its messages are stored. No mailbox file begins with this byte.
const signStored = '+'

// signed reports whether the sender that claimed the messages has stored them.
func (q *queued) signed() bool {
	var b [1]byte
	q.f.ReadAt(b[:], 0)
	return b[0] == signStored
}

// queue is for a sender that did not get the lock. It returns once it has the lock, or once another sender has stored the messages.
func (m *Mailbox) queue(ctx context.Context, lk *filelock.Lock, d *delivery) (stored bool, err error) {
	q := m.enqueue(d)
	if q == nil {
		return false, lk.Wait(ctx)
	}
	defer q.close()
	held, err := q.await(ctx, lk)
	if q.signed() { // if we have the lock, the sender that claimed the file is done, and has signed it
		return true, nil
	}
	d.maybeStored = !q.withdraw()
	if d.maybeStored && !held && err == nil { // the sender that claimed the messages may be about to store them
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

// await returns once it has the lock (held), or once the file is signed or ctx ends.
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

// openQueued opens the queued file of a live sender. It removes the file of a dead sender, and returns nil. The caller holds the lock.
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
		dir.Remove(name) // if this fails, the next delivery tries again
	}
	f.Close()
	return nil
}

// readQueued returns nil unless the file is complete, valid and small enough, with bodies of at most maxBody bytes.
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
