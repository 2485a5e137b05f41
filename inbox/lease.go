package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// chunk is a file of messages in <sid>.lease/. Its name says all about it:
//
//	<seq>-<count>-<archived>-<unix ms>-<pid>-<by>.json[l]
//
// archived is the size of the archive when it was handed out: what a dead
// holder still archived stands behind it, and is not handed over again.
type chunk struct {
	seq      int
	count    int
	archived int64
	at       time.Time
	pid      int
	by       string
	lines    bool // a spill: one record a line

	done    bool     // acknowledged, but the archive could not take it yet
	file    *os.File // open and locked while we hold it
	damaged bool
	msgs    []Message
}

const donePrefix = "done-"

func (c *chunk) name() string {
	ext, prefix := "json", ""
	if c.lines {
		ext = "jsonl"
	}
	if c.done {
		prefix = donePrefix
	}
	return fmt.Sprintf("%s%08d-%d-%d-%d-%d-%s.%s", prefix, c.seq, c.count, c.archived, c.at.UnixMilli(), c.pid, c.by, ext)
}

func parseChunk(name string) (*chunk, bool) {
	c := &chunk{}
	rest, done := strings.CutPrefix(name, donePrefix)
	c.done = done
	stem, ok := strings.CutSuffix(rest, ".json")
	if !ok {
		if stem, ok = strings.CutSuffix(rest, ".jsonl"); !ok {
			return nil, false
		}
		c.lines = true
	}
	part := strings.SplitN(stem, "-", 6)
	if len(part) != 6 || !ValidName(part[5]) {
		return nil, false
	}
	var n [5]int64
	for i := range n {
		v, err := strconv.ParseInt(part[i], 10, 64)
		if err != nil || v < 0 {
			return nil, false
		}
		n[i] = v
	}
	c.seq, c.count, c.archived, c.pid, c.by = int(n[0]), int(n[1]), n[2], int(n[4]), part[5]
	c.at = time.UnixMilli(n[3])
	return c, c.name() == name
}

// chunks lists a lease directory in the order of delivery.
func chunks(dir *atomicfile.Dir) ([]*chunk, error) {
	names, err := dir.Names()
	if err != nil {
		return nil, err
	}
	var cs []*chunk
	for _, name := range names {
		if c, ok := parseChunk(name); ok {
			cs = append(cs, c)
		}
	}
	slices.SortFunc(cs, func(a, b *chunk) int { return a.seq - b.seq })
	return cs, nil
}

// free says whether the holder of a chunk is dead. One that is gone was
// acknowledged just now, and is nobody's.
func (c *chunk) free(dir *atomicfile.Dir) (bool, error) {
	f, err := dir.Open(c.name(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return filelock.FreeFile(f)
}

// leased adds up what the names of a lease directory say.
func leased(dir *atomicfile.Dir) (messages int, bytes int64, err error) {
	cs, err := chunks(dir)
	for _, c := range cs {
		info, err := dir.Stat(c.name())
		if err != nil {
			continue // acknowledged just now: an ack takes no inbox lock
		}
		messages += c.count
		bytes += info.Size()
	}
	return messages, bytes, err
}

// Lease is a batch of messages in the hands of one reader. It lives as long
// as its process, and ends with Ack or Release.
type Lease struct {
	Messages []Message
	Damaged  []string // files of which a part was not readable; a copy is kept at the ack

	box    *Mailbox
	dir    *atomicfile.Dir
	chunks []*chunk
}

// Lease hands over all that waits, oldest first, and what a dead holder had
// before everything else. by names the reader in the archive. It needs no
// space on the disk. The messages are offered again unless Ack follows.
func (m *Mailbox) Lease(ctx context.Context, by string) (*Lease, error) {
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
	if err := l.claim(ctx, by); err != nil {
		l.Release()
		return nil, err
	}
	l.collect()
	return l, nil
}

// tidy removes what a dead process left of a chunk that it was writing. The
// caller holds the lock.
func tidy(dir *atomicfile.Dir) error {
	names, err := dir.Names()
	for _, name := range names {
		if atomicfile.IsTemp(name) {
			err = errors.Join(err, dir.Remove(name))
		}
	}
	return err
}

func (l *Lease) claim(ctx context.Context, by string) error {
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
	for _, c := range old {
		next.seq = max(next.seq, c.seq)
		if err := l.adopt(ctx, c, next); err != nil {
			return err
		}
	}
	if err := l.take(m.inboxName(), next, false); err != nil {
		return err
	}
	return l.take(m.spillName(), next, true)
}

// adopt takes over a chunk whose holder is dead.
func (l *Lease) adopt(ctx context.Context, c, as *chunk) error {
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
	c.msgs = slices.DeleteFunc(c.msgs, func(m Message) bool { return gone[m.ID] })
	if len(c.msgs) == 0 && !c.damaged {
		defer f.Close()
		return l.remove(c)
	}
	mine := *c
	mine.at, mine.pid, mine.by = as.at, as.pid, as.by
	err = l.dir.Rename(c.name(), mine.name())
	if err == nil {
		l.chunks = append(l.chunks, &mine)
		return nil
	}
	f.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // acknowledged between our open and its lock
	}
	return err
}

// remove deletes a chunk that its holder may just have deleted itself.
func (l *Lease) remove(c *chunk) error {
	if err := l.dir.Remove(c.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// finish archives what was acknowledged on a full disk. When there is still no
// room it stays; it is never handed over again.
func (l *Lease) finish(ctx context.Context, c *chunk, gone map[string]bool) error {
	left := slices.DeleteFunc(c.msgs, func(m Message) bool { return gone[m.ID] })
	if err := l.box.archive(ctx, c.by, left, c.archived); err != nil {
		l.box.log.Warn("acknowledged mail is not archived yet", "session", l.box.sid, "err", err)
		return nil
	}
	return l.remove(c)
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
	as.seq++
	c.seq, c.count = as.seq, len(c.msgs)
	if _, err = filelock.TryFile(f); err == nil {
		err = m.root.Move(name, l.dir, c.name())
	}
	if err != nil {
		f.Close()
		return err
	}
	l.chunks = append(l.chunks, &c)
	return nil
}

func (c *chunk) read() error {
	data, err := io.ReadAll(c.file)
	if err != nil {
		return fmt.Errorf("read %q: %w", c.file.Name(), err)
	}
	if c.lines {
		c.msgs, c.damaged = decodeSpill(data)
	} else {
		c.msgs, c.damaged = decode(data)
	}
	nameLegacy(c.msgs)
	return nil
}

// nameLegacy gives ids to messages that came without; two equal ones stay two.
func nameLegacy(msgs []Message) {
	seen := map[string]int{}
	for i := range msgs {
		if msgs[i].ID == "" {
			id := msgs[i].legacyID()
			if seen[id]++; seen[id] > 1 {
				id += "-" + strconv.Itoa(seen[id])
			}
			msgs[i].ID = id
		}
	}
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
// handed over: they go to the archive, the others wait again. On an error
// nothing is lost; what could not be recorded may be handed over again.
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
		return errors.Join(err, l.markDone())
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

// putBack lets the rest wait again: in the inbox if it fits, else in the lease
// directory, without a holder. The caller holds the lock.
func (l *Lease) putBack(rest []Message) error {
	m := l.box
	file, err := readIf(m.root, m.inboxName())
	if err != nil {
		return err
	}
	waiting, damaged := decode(file)
	next := encode(append(slices.Clone(rest), waiting...))
	if len(next) <= maxInbox && !damaged {
		if err := m.root.Replace(m.inboxName(), next); err != nil {
			return err
		}
		return l.drop()
	}
	c := *l.chunks[0]
	archived, err := m.archiveSize()
	if err != nil {
		return err
	}
	c.lines, c.count, c.archived = false, len(rest), archived
	if err := l.dir.Replace(c.name(), encode(rest)); err != nil {
		return err
	}
	l.chunks = slices.DeleteFunc(l.chunks, func(o *chunk) bool {
		same := o.name() == c.name()
		if same {
			o.file.Close()
		}
		return same
	})
	return l.drop()
}

// drop removes the files of the lease; a damaged one is kept beside the inbox.
func (l *Lease) drop() error {
	m := l.box
	for _, c := range l.chunks {
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(l.dir.Sync(), m.root.Sync())
}

// Drain is Lease and Ack in one, for a reader that needs no second look.
func (m *Mailbox) Drain(ctx context.Context, by string) ([]Message, error) {
	l, err := m.Lease(ctx, by)
	if err != nil {
		return nil, err
	}
	return l.Messages, l.Ack(ctx)
}
