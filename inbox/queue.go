package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Senders that find the mailbox locked combine their commits. Each queues its messages in a file of
// its own in the lease directory. The sender that gets the lock next stores all queued messages
// with its own, in one write:
//
//	<sid>.lease/.queued-<unix ns>-<pid>   a mailbox file, locked by its sender
//
// A queued file is not synced, and no reader takes it for mail: its sender has not reported its
// messages as stored. The file gets its name once it is complete and locked. A queued file without
// a lock was left by a dead sender or a power cut; the next process that has the lock of the
// mailbox removes it.
//
// Before a sender stores the messages of another sender, it claims their file by removing its name.
// Only one process can remove the name. A waiting sender that gives up tries to remove the name,
// too. Once the messages are durable, the storing sender marks the file with signStored. The
// waiting sender still has the file open. So the waiting sender knows from its own file what
// happened:
//
//   - The mark is there: the messages are stored.
//   - The name is there: no sender has claimed the file.
//   - The name is gone, the mark is missing, and the waiting sender has the lock: the sender that claimed the file was killed,
//     before or after its commit, or could not store the messages. The waiting sender searches the mailbox for its ids, and stores
//     the messages that are missing.
//
// Because of the last case, ephemeral messages are not queued: if such a message was stored and
// read in between, nothing would be left of it. Its sender would not find it, and would store it
// again.
//
// A waiting sender alternately checks its own file and tries the lock. If it waited for the lock
// alone, the senders would have to wake one after another to find their messages stored.
const queuedPrefix = ".queued-" // the dot hides the file from the hook script, which takes other names for mail

const (
	// maxBatch bounds the bytes that one sender stores for others.
	maxBatch = 256 << 10
	// patience is the time for which a sender still waits after its ctx has ended, if another
	// sender has claimed its messages. A commit takes less time, but the other sender may be
	// stopped.
	patience = 500 * time.Millisecond
)

// queued is the file of a waiting sender.
type queued struct {
	dir  *atomicfile.Dir
	name string
	f    *atomicfile.Handle
}

// enqueue queues the messages. It returns nil if this fails, or if the messages must not be queued,
// for example ephemeral messages, or moved messages, which are compared in another way.
func (m *Mailbox) enqueue(d *delivery) *queued {
	data := mail.Array(d.Messages)
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
	// Use the real clock, not m.now, because the name must be new.
	name := fmt.Sprintf("%s%d-%d", queuedPrefix, time.Now().UnixNano(), os.Getpid())
	q := &queued{dir: dir, name: atomicfile.TempName(name)}
	if q.f, err = dir.OpenHandle(q.name, os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
		dir.Close()
		return nil
	}
	if _, err = atomicfile.TryFile(q.f); err == nil {
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

// signStored replaces the first byte of a queued file when its messages are stored. No mailbox file
// begins with this byte.
const signStored = '+'

// signed reports whether the sender that claimed the messages has stored them.
func (q *queued) signed() bool {
	var b [1]byte
	q.f.ReadAt(b[:], 0)
	return b[0] == signStored
}

// queue is for a sender that did not get the lock. It waits until it has the lock, or until another
// sender has stored the messages.
func (m *Mailbox) queue(ctx context.Context, lk *atomicfile.Lock, d *delivery) (stored bool, err error) {
	q := m.enqueue(d)
	if q == nil {
		return false, lk.Wait(ctx)
	}
	defer q.close()
	held, err := lk.WaitUnless(ctx, q.signed)
	if q.signed() { // look also if we have the lock: the sender that claimed the file may have stored the messages before
		return true, nil
	}
	d.maybeStored = !q.withdraw()
	if d.maybeStored && !held && err == nil { // the sender that claimed the messages may be about to store them
		var cancel func()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		held, err = lk.WaitUnless(ctx, q.signed)
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

// openQueued opens the queued file of a live sender. If the sender is dead, openQueued removes the
// file and returns nil. The caller holds the lock.
func openQueued(dir *atomicfile.Dir, name string) *atomicfile.Handle {
	if !strings.HasPrefix(name, queuedPrefix) || atomicfile.IsTemp(name) {
		return nil
	}
	f, err := dir.OpenHandle(name, os.O_RDWR)
	if err != nil {
		return nil
	}
	free, err := atomicfile.FreeFile(f)
	if err == nil && !free {
		return f
	}
	if free {
		dir.Remove(name) // if this fails, the next delivery tries again
	}
	f.Close()
	return nil
}

// readQueued returns the messages of a queued file. It returns nil unless the file is complete,
// valid and small enough.
func readQueued(f io.Reader) (msgs []mail.Message) {
	data, err := io.ReadAll(io.LimitReader(f, maxBatch+1))
	if err != nil || len(data) > maxBatch || json.Unmarshal(data, &msgs) != nil {
		return nil
	}
	for _, msg := range msgs {
		if msg.ID == "" || msg.Ephemeral || msg.Check() != nil {
			return nil
		}
	}
	return msgs
}
