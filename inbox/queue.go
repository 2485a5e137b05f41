package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Senders that find the mailbox locked combine their commits. Each queues its
// messages, in a file of its own in the lease directory, and whoever gets the
// lock next stores them with its own in one write:
//
//	<sid>.lease/.queued-<unix ns>-<pid>[-once]   a mailbox file, locked by its sender
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
//   - signed: stored, or refused because the mailbox has no room for all
//   - the name is there: nobody has touched it
//   - the name is gone and nobody signed, though the sender has the lock: who
//     claimed it was killed, before or after its commit. The sender looks for its
//     ids, as for ids that it chose.
//
// The last case is why ephemeral messages are not queued: one that was stored,
// read and forgotten in between would not be found, and be stored again.
//
// The oldest of the queued senders waits for the lock of the mailbox. The others
// wait for the lock on its file, and go on all at once. If all waited for the lock
// of the mailbox, each of them would have to be woken to find its message stored.
// The sender that waits for the lock also looks at its own file: later senders may
// get the lock first, and one of them may have stored its message.
const (
	queuedPrefix = ".queued-" // hidden: the hook script takes what is not for mail
	onceSuffix   = "-once"
)

const (
	signUnknown = 0
	signStored  = '+'
	signRefused = '-'
)

const (
	// maxBatch bounds what one sender stores for others, in bytes.
	maxBatch = 1 << 20
	// patience is how long a sender waits for another one, which may be stopped. A commit takes less.
	patience = 500 * time.Millisecond
	// signInterval is how often a sender that waits for the lock looks for a sign in its own file.
	signInterval = 2 * time.Millisecond
)

// queued is the file of a sender that waits.
type queued struct {
	dir  *atomicfile.Dir
	name string
	f    *os.File
}

// enqueue queues the messages. It returns nil when it could not; the sender then only waits for the lock.
func (m *Mailbox) enqueue(d *draft) *queued {
	if slices.ContainsFunc(d.Messages, func(msg Message) bool { return msg.Ephemeral }) {
		return nil
	}
	data := encode(d.Messages)
	if len(data) > maxBatch {
		return nil
	}
	dir, err := m.root.Sub(m.LeaseName(), false)
	if err != nil {
		return nil
	}
	// The real clock, whatever m.now says: the name must be new, and sort by age.
	name := fmt.Sprintf("%s%d-%d", queuedPrefix, time.Now().UnixNano(), os.Getpid())
	if slices.Contains(d.chosen, true) {
		name += onceSuffix
	}
	q := &queued{dir: dir, name: atomicfile.TempName(name)}
	if q.f, err = dir.Open(q.name, os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
		dir.Close()
		return nil
	}
	if _, err = filelock.TryFile(q.f); err == nil {
		_, err = q.f.Write(data)
	}
	if err == nil {
		err = dir.Rename(q.name, name)
	}
	if err != nil { // also when a reader has removed the file: without its name it looks like a dead sender's
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

// claimed says whether somebody took the file.
func (q *queued) claimed() bool {
	is, err := q.dir.IsFile(q.name, q.f)
	return err == nil && !is
}

// sign reads what the sender that claimed the messages wrote about them.
func (q *queued) sign() byte {
	var b [1]byte
	q.f.ReadAt(b[:], 0)
	if b[0] == signStored || b[0] == signRefused {
		return b[0]
	}
	return signUnknown
}

// queue is for a sender that did not get the lock. Unless another has stored the
// draft it returns with the lock, which may be another one than it was given.
func (m *Mailbox) queue(ctx context.Context, lk *filelock.Lock, d *draft) (_ *filelock.Lock, stored bool, err error) {
	q := m.enqueue(d)
	if q == nil {
		return lk, false, lk.Wait(ctx)
	}
	defer q.close()
	q.waitForOlder(ctx)
	err = q.waitForLock(ctx, lk)
	if err != nil && q.withdraw() {
		return lk, false, err // nobody has the message
	}
	if err != nil && q.sign() != signStored {
		if ctx.Err() != nil { // whoever has the message may be about to store it
			var cancel func()
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
		}
		if lk, err = filelock.Acquire(ctx, m.root, m.LockName()); err != nil && q.sign() == signUnknown {
			err = fmt.Errorf("%w; another sender has the message and may yet store it", err)
		}
	}
	if q.sign() == signStored {
		return lk, true, nil
	}
	if err != nil {
		return lk, false, err
	}
	d.maybeStored = !q.withdraw() && q.sign() != signRefused
	return lk, false, nil
}

// waitForLock returns nil with the lock, and an error when the file is signed or ctx ends.
func (q *queued) waitForLock(ctx context.Context, lk *filelock.Lock) error {
	ctx, stop := context.WithCancel(ctx)
	var looks sync.WaitGroup
	defer looks.Wait()
	defer stop()
	looks.Go(func() {
		tick := time.NewTicker(signInterval)
		defer tick.Stop()
		for q.sign() == signUnknown {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		stop()
	})
	return lk.Wait(ctx)
}

// waitForOlder waits as long as an older sender waits for the lock.
func (q *queued) waitForOlder(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !q.claimed() {
		older := q.older()
		if older == nil || filelock.Outwait(ctx, older) != nil {
			return
		}
		older.Close()
	}
}

// older opens the file of the oldest sender that lives, unless it is q.
func (q *queued) older() *os.File {
	names, err := q.dir.Names()
	if err != nil {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		if !isQueued(name) || name >= q.name {
			continue
		}
		f, err := q.dir.Open(name, os.O_RDONLY)
		if err != nil {
			continue
		}
		if free, err := filelock.FreeFile(f); err == nil && !free {
			return f
		}
		f.Close()
	}
	return nil
}

// batch is what one sender stores for others.
type batch struct {
	msgs  []Message
	ids   map[string]bool
	size  int64
	files []*os.File // to be signed
}

// claim takes what others have queued beside fresh. What it cannot take is left,
// for its sender to be told why. The caller holds the lock.
func (m *Mailbox) claim(dir *atomicfile.Dir, names []string, fresh []Message) *batch {
	b := &batch{ids: map[string]bool{}}
	for _, msg := range fresh {
		b.ids[msg.ID] = true
	}
	type offer struct {
		name string
		f    *os.File
		msgs []Message
	}
	var offers []offer
	chosen := map[string]bool{} // ids: one search for all
	slices.Sort(names)
	for _, name := range names {
		f := openQueued(dir, name)
		if f == nil {
			continue
		}
		o := offer{name, f, m.readQueued(f)}
		offers = append(offers, o)
		for i := 0; i < len(o.msgs) && strings.HasSuffix(name, onceSuffix); i++ {
			chosen[o.msgs[i].ID] = true
		}
	}
	there, err := m.withIDs(chosen)
	for _, o := range offers {
		if err == nil && b.takes(o.msgs, there) && dir.Remove(o.name) == nil {
			b.add(o.msgs)
			b.files = append(b.files, o.f)
		} else {
			o.f.Close()
		}
	}
	return b
}

// takes says whether there is room for messages, and none of them is in the batch or there already.
func (b *batch) takes(msgs []Message, there map[string][]Message) bool {
	return len(msgs) > 0 && b.size+sizeOf(msgs) <= maxBatch && !slices.ContainsFunc(msgs, func(msg Message) bool {
		return b.ids[msg.ID] || slices.ContainsFunc(there[msg.ID], msg.sameSender)
	})
}

func (b *batch) add(msgs []Message) {
	b.msgs = append(b.msgs, msgs...)
	b.size += sizeOf(msgs)
	for _, msg := range msgs {
		b.ids[msg.ID] = true
	}
}

// sizeOf gives the bytes of the bodies.
func sizeOf(msgs []Message) (size int64) {
	for _, msg := range msgs {
		size += int64(len(msg.Content))
	}
	return size
}

// sign tells the senders what became of their messages. A sender whose sign is lost looks for its messages.
func (b *batch) sign(sign byte) {
	for _, f := range b.files {
		if sign != signUnknown {
			f.WriteAt([]byte{sign}, 0)
		}
		f.Close()
	}
}

func isQueued(name string) bool {
	return strings.HasPrefix(name, queuedPrefix) && !atomicfile.IsTemp(name)
}

// openQueued returns nil unless name is the file of a live sender; that of a dead
// one it removes. The caller holds the lock.
func openQueued(dir *atomicfile.Dir, name string) *os.File {
	if !isQueued(name) {
		return nil
	}
	f, err := dir.Open(name, os.O_RDWR)
	if err != nil {
		return nil
	}
	free, err := filelock.FreeFile(f)
	if err == nil && !free {
		return f
	}
	if free {
		dir.Remove(name) // what cannot be removed does no harm, and is tried again
	}
	f.Close()
	return nil
}

// readQueued returns nothing unless the file is whole, small enough and good.
func (m *Mailbox) readQueued(f io.Reader) (msgs []Message) {
	data, err := io.ReadAll(io.LimitReader(f, maxBatch+1))
	if err != nil || len(data) > maxBatch || json.Unmarshal(data, &msgs) != nil {
		return nil
	}
	for _, msg := range msgs {
		if msg.ID == "" || msg.Ephemeral || msg.check(m.limits) != nil {
			return nil
		}
	}
	return msgs
}
