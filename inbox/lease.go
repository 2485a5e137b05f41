package inbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Lease is a batch of messages in the hands of one reader. It lives as long
// as its process, and ends with Ack or Release.
type Lease struct {
	Messages []Message
	Damaged  []string // files of which a part was not readable; a copy is kept at the ack
	More     bool     // something waits behind these messages

	box    *Mailbox
	dir    *atomicfile.Dir
	chunks []*chunk
	size   int64 // bytes of the files
}

// hold adds a file of which this process has the lock.
func (l *Lease) hold(c *chunk) {
	l.chunks = append(l.chunks, c)
	l.size += c.size
}

// Lease hands over all that waits, oldest first, and what a dead holder had
// before everything else. by names the reader in the archive. It needs no
// space on the disk. The messages are offered again unless Ack follows.
func (m *Mailbox) Lease(ctx context.Context, by string) (*Lease, error) {
	return m.LeaseSome(ctx, by, math.MaxInt64)
}

// LeaseSome is Lease for a reader that shows only so many bytes at a time: it
// takes no further file once it has enough.
func (m *Mailbox) LeaseSome(ctx context.Context, by string, enough int64) (*Lease, error) {
	if !ValidName(by) {
		return nil, fmt.Errorf("reader name %q: 1 to 128 of A-Z a-z 0-9 . _ -", by)
	}
	l := &Lease{box: m}
	if some, err := m.used(); err != nil || !some {
		return l, err
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	if l.dir, err = m.root.Sub(m.leaseName(), true); err != nil {
		return nil, err
	}
	if err := l.claim(ctx, by, enough); err != nil {
		l.Release()
		return nil, err
	}
	l.collect()
	return l, nil
}

// tidy removes what a dead process left of a chunk that it was writing, and of
// messages that it had queued. The caller holds the lock.
func tidy(dir *atomicfile.Dir) error {
	names, err := dir.Names()
	for _, name := range names {
		info, serr := dir.Stat(name)
		if serr != nil || !info.Mode().IsRegular() {
			continue
		}
		if atomicfile.IsTemp(name) {
			err = errors.Join(err, dir.Remove(name))
		}
		if f := openQueued(dir, name); f != nil {
			f.Close()
		}
	}
	return err
}

// step is the distance between the numbers of two files: what is left of one
// may become several, which keep its place.
const step = 1 << 20

func (l *Lease) claim(ctx context.Context, by string, enough int64) error {
	m := l.box
	if err := tidy(l.dir); err != nil {
		return err
	}
	old, err := chunks(l.dir)
	if err != nil {
		return err
	}
	archived, err := m.archiveSize()
	if err != nil {
		return err
	}
	next := &chunk{at: m.now(), pid: os.Getpid(), by: by, archived: archived}
	again, err := m.putBackIDs(len(old) > 0)
	if err != nil {
		return err
	}
	for _, c := range old {
		next.seq = max(next.seq, c.seq)
		if l.size >= enough {
			l.More = true
			continue
		}
		if err := l.adopt(ctx, c, next, again); err != nil {
			return err
		}
	}
	for _, name := range []string{m.inboxName(), m.spillName()} {
		if l.size < enough {
			err = l.take(name, next, name == m.spillName())
		} else if some, serr := m.undrained(); serr != nil || some {
			l.More, err = l.More || some, serr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// putBackIDs gives the ids in the inbox. A reader that dies after it has put
// messages back there, and before it drops its chunk, leaves them in both.
func (m *Mailbox) putBackIDs(some bool) (map[string]bool, error) {
	ids := map[string]bool{}
	if !some {
		return ids, nil
	}
	file, err := readIf(m.root, m.inboxName())
	waiting, _ := decode(file)
	for _, msg := range waiting {
		ids[msg.ID] = msg.ID != "" && !strings.HasPrefix(msg.ID, "legacy-")
	}
	return ids, err
}

// adopt takes over a chunk whose holder is dead, but for the messages that stand
// in the inbox again.
func (l *Lease) adopt(ctx context.Context, c, as *chunk, again map[string]bool) error {
	f, err := l.dir.Open(c.name(), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // acknowledged just now
	}
	if err != nil {
		return err
	}
	if free, err := filelock.TryFile(f); err != nil || !free {
		f.Close()
		return err
	}
	c.file = f
	if err := c.read(); err != nil {
		f.Close()
		return err
	}
	gone, err := l.box.archivedSince(c.archived)
	if err != nil {
		f.Close()
		return err
	}
	if c.done {
		defer f.Close()
		return l.finish(ctx, c, gone)
	}
	c.msgs = slices.DeleteFunc(c.msgs, func(m Message) bool { return gone[m.ID] || again[m.ID] })
	if len(c.msgs) == 0 && !c.damaged {
		defer f.Close()
		return l.remove(c)
	}
	mine := *c
	mine.at, mine.pid, mine.by = as.at, as.pid, as.by
	err = l.dir.Rename(c.name(), mine.name())
	if err == nil {
		l.hold(&mine)
		return nil
	}
	f.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // acknowledged between our open and its lock
	}
	return err
}

// remove deletes a chunk that its holder may just have deleted itself. A damaged
// one is kept beside the inbox.
func (l *Lease) remove(c *chunk) error {
	m := l.box
	var err error
	if c.damaged {
		name := m.inboxName()
		if c.lines {
			name = m.spillName()
		}
		aside := name + ".corrupt-" + m.now().UTC().Format("20060102T150405.000000")
		m.log.Warn("damaged file set aside", "session", m.sid, "file", name, "copy", aside)
		err = l.dir.Move(c.name(), m.root, aside)
	} else {
		err = l.dir.Remove(c.name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// finish archives what was acknowledged on a full disk. When there is still no
// room it stays; it is never handed over again.
func (l *Lease) finish(ctx context.Context, c *chunk, gone map[string]bool) error {
	left := slices.DeleteFunc(c.msgs, func(m Message) bool { return gone[m.ID] })
	if err := l.box.archive(ctx, c.by, left, c.archived); err != nil {
		l.box.notArchived(err)
		return nil
	}
	return l.remove(c)
}

func (m *Mailbox) notArchived(err error) {
	m.log.Warn("acknowledged mail is not archived yet", "session", m.sid, "err", err)
}

// take moves a mailbox file into the lease.
func (l *Lease) take(name string, as *chunk, lines bool) error {
	m := l.box
	f, err := m.root.Open(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c := *as
	c.file, c.lines = f, lines
	if err := c.read(); err != nil {
		f.Close()
		return err
	}
	if len(c.msgs) == 0 && !c.damaged {
		return f.Close() // an empty inbox is left alone: moving it would wake watchers
	}
	as.seq += step
	c.seq, c.count = as.seq, len(c.msgs)
	if _, err = filelock.TryFile(f); err == nil {
		err = m.root.Move(name, l.dir, c.name())
	}
	if err != nil {
		f.Close()
		return err
	}
	l.hold(&c)
	return nil
}

// collect puts the chunks' messages in one row, each id once.
func (l *Lease) collect() {
	seen := map[string]bool{}
	for _, c := range l.chunks {
		if c.damaged {
			l.Damaged = append(l.Damaged, c.name())
		}
		for _, msg := range c.msgs {
			if seen[msg.ID] && !strings.HasPrefix(msg.ID, "legacy-") {
				continue
			}
			for base, n := msg.ID, 2; seen[msg.ID]; n++ {
				msg.ID = base + "." + strconv.Itoa(n)
			}
			seen[msg.ID] = true
			l.Messages = append(l.Messages, msg)
		}
	}
}

// Release gives the messages back; they wait again, before any later ones.
func (l *Lease) Release() error {
	held := len(l.chunks) > 0
	err := l.close()
	if held {
		err = errors.Join(err, l.box.touch())
	}
	return err
}

// touch tells the watchers of the mailbox that something waits again.
func (m *Mailbox) touch() error {
	f, err := m.root.Open(m.LockName(), os.O_RDWR)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l *Lease) close() error {
	var errs []error
	for _, c := range l.chunks {
		errs = append(errs, c.file.Close())
	}
	if l.dir != nil {
		errs = append(errs, l.dir.Close())
	}
	l.chunks, l.dir = nil, nil
	return errors.Join(errs...)
}

// Ack says that the messages with these ids, or all when none is named, were
// handed over: they go to the archive, the others wait again. When all were,
// and the archive has no room, the ack is recorded all the same, and a later
// Lease archives them. On an error nothing is lost; what could not be recorded
// may be handed over again.
func (l *Lease) Ack(ctx context.Context, ids ...string) error {
	if len(l.chunks) == 0 {
		return l.close()
	}
	var acked, rest []Message
	for _, msg := range l.Messages {
		if len(ids) == 0 || slices.Contains(ids, msg.ID) {
			acked = append(acked, msg)
		} else {
			rest = append(rest, msg)
		}
	}
	err := l.settle(ctx, acked, rest)
	return errors.Join(err, l.close())
}

func (l *Lease) settle(ctx context.Context, acked, rest []Message) error {
	m := l.box
	if err := m.archive(ctx, l.chunks[0].by, acked, l.since()); err != nil {
		if len(rest) > 0 {
			return err
		}
		if derr := l.markDone(); derr != nil {
			return errors.Join(err, derr)
		}
		m.notArchived(err)
		return nil
	}
	if len(rest) > 0 {
		lk, err := m.lock(ctx)
		if err != nil {
			return err
		}
		defer lk.Release()
		return l.putBack(rest)
	}
	return l.drop()
}

// since is where in the archive a record of one of the messages may stand already.
func (l *Lease) since() int64 {
	since := l.chunks[0].archived
	for _, c := range l.chunks {
		since = min(since, c.archived)
	}
	return since
}

// markDone records the ack in the files' names, which takes no space on the disk.
func (l *Lease) markDone() error {
	for _, c := range l.chunks {
		old := c.name()
		c.done = true
		if err := l.dir.Rename(old, c.name()); err != nil {
			return err
		}
	}
	return l.dir.Sync()
}

// putBack lets the rest wait again: in the inbox if nothing else would come
// between and it fits, else in the lease directory, without a holder, in files
// small enough that the next reader need not take them all. The caller holds
// the lock.
func (l *Lease) putBack(rest []Message) error {
	m := l.box
	file, err := readIf(m.root, m.inboxName())
	if err != nil {
		return err
	}
	waiting, damaged := decode(file)
	next := encode(append(slices.Clone(rest), waiting...))
	behind, err := l.behind()
	if err != nil {
		return err
	}
	if len(next) <= maxInbox && !damaged && !behind {
		if err := m.root.Replace(m.inboxName(), next); err != nil {
			return err
		}
		return l.drop()
	}
	archived, err := m.archiveSize()
	if err != nil {
		return err
	}
	c := *l.chunks[0]
	c.lines, c.archived = false, archived
	for part := range parts(rest) {
		c.count = len(part)
		if err := l.dir.Replace(c.name(), encode(part)); err != nil {
			return err
		}
		l.keep(c.name())
		c.seq++
	}
	return l.drop()
}

// behind says whether the lease directory has files that come after ours.
func (l *Lease) behind() (bool, error) {
	all, err := chunks(l.dir)
	return slices.ContainsFunc(all, func(c *chunk) bool {
		return !c.done && c.seq > l.chunks[0].seq &&
			!slices.ContainsFunc(l.chunks, func(own *chunk) bool { return own.seq == c.seq })
	}), err
}

// keep takes a file that was written anew out of those that drop removes.
func (l *Lease) keep(name string) {
	l.chunks = slices.DeleteFunc(l.chunks, func(c *chunk) bool {
		if c.name() == name {
			c.file.Close()
		}
		return c.name() == name
	})
}

// drop removes the files of the lease.
func (l *Lease) drop() error {
	for _, c := range l.chunks {
		if err := l.remove(c); err != nil {
			return err
		}
	}
	return errors.Join(l.dir.Sync(), l.box.root.Sync())
}

// Drain is Lease and Ack in one, for a reader that needs no second look.
func (m *Mailbox) Drain(ctx context.Context, by string) ([]Message, error) {
	l, err := m.Lease(ctx, by)
	if err != nil {
		return nil, err
	}
	return l.Messages, l.Ack(ctx)
}
