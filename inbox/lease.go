package inbox

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Lease is a batch of messages that one reader has taken. It ends with Ack, with Release, or with
// the reader's process.
type Lease struct {
	Messages []mail.Message
	More     bool // more mail waits after these messages

	box   *Mailbox
	dir   *atomicfile.Dir
	files []*mailFile             // the files with the messages; all are locked
	size  int64                   // bytes of the bodies
	all   bool                    // see LeaseAll
	only  func(mail.Message) bool // see LeaseOnly
}

// Lease takes waiting messages, oldest first; messages that a dead reader had leased come first. It
// takes no further file when the bodies have reached this size, in bytes. The argument by is the
// name of the reader in the archive. Lease needs no disk space. If no Ack follows, the messages are
// offered again.
func (m *Mailbox) Lease(ctx context.Context, by string, size int64) (*Lease, error) {
	return m.lease(ctx, by, size, &Lease{box: m})
}

// LeaseAll is Lease for moving mail: it also takes the messages that are not offered now, see
// PeekAll.
func (m *Mailbox) LeaseAll(ctx context.Context, by string, size int64) (*Lease, error) {
	return m.lease(ctx, by, size, &Lease{box: m, all: true})
}

// LeaseOnly leases only the messages for which the function matches returns true, also held ones.
// All other messages stay where they are, but no other reader can lease those that share a file
// with a leased message.
func (m *Mailbox) LeaseOnly(ctx context.Context, by string, matches func(mail.Message) bool) (*Lease, error) {
	return m.lease(ctx, by, math.MaxInt64, &Lease{box: m, only: matches})
}

func (m *Mailbox) lease(ctx context.Context, by string, size int64, l *Lease) (*Lease, error) {
	if err := mail.CheckName("reader name", by); err != nil {
		return nil, err
	}
	if some, err := m.Used(); err != nil || !some {
		return l, err
	}
	lk, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	if l.dir, err = m.root.Sub(m.LeaseName(), true); err != nil {
		return nil, err
	}
	if err := l.take(ctx, by, size); err != nil {
		l.Release()
		return nil, err
	}
	l.dropDoubles()
	l.assignHandles()
	return l, nil
}

// Join adds later leases of the same mailbox to this lease, in their order, and ends them. Then
// l.Messages has the messages of all these leases, in order. Some of them may have another handle
// than before.
func (l *Lease) Join(later ...*Lease) error {
	var errs []error
	for _, other := range later {
		for _, mf := range other.files {
			mf.dir = l.dir
		}
		l.files, l.size, l.More = append(l.files, other.files...), l.size+other.size, other.More
		other.files = nil
		errs = append(errs, other.close())
	}
	l.assignHandles()
	return errors.Join(errs...)
}

func (l *Lease) take(ctx context.Context, by string, size int64) error {
	m := l.box
	waiting, err := removeLeftovers(l.dir)
	if err != nil {
		return err
	}
	archived, err := m.archive.End()
	if err != nil {
		return err
	}
	next := mailFile{at: m.now(), by: by, archived: archived}
	for _, mf := range waiting {
		next.number = max(next.number, mf.number)
		if l.size >= size {
			l.More = true
		} else if err := l.takeFile(ctx, mf, next); err != nil {
			return err
		}
	}
	if l.size >= size {
		some, err := m.inboxWaits()
		l.More = l.More || some
		return err
	}
	next.number++
	return l.takeInbox(ctx, next)
}

// reread bounds how much of the archive a reader searches for the messages of one file. A file may
// stay for days with messages that are not offered yet, while other mail is archived. When the
// archive has grown by so many bytes, a reader sets <archived> in the file's name to the new end of
// the archive.
const reread = 64 << 10

// takeFile leases a numbered file unless a live reader has it. It does not offer messages that a
// dead reader of the file has archived. The argument as has the values for the file's new name.
func (l *Lease) takeFile(ctx context.Context, mf *mailFile, as mailFile) (err error) {
	free, err := l.box.load(mf, true)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a reader has acked all of it just now
		return nil
	case err != nil || !free:
		return err
	}
	taken := false
	defer func() {
		if !taken {
			mf.file.Close()
		}
	}()
	if mf.done {
		return l.archiveDone(ctx, mf)
	}
	if len(mf.msgs) == 0 || mf.acked > 0 {
		switch err := l.box.keepRest(ctx, mf, noneHanded); {
		case err == nil && len(mf.msgs) > 0: // keepRest has replaced the file
			return l.takeFile(ctx, &mailFile{dir: l.dir, number: mf.number, count: mf.count, bytes: mf.bytes, archived: mf.archived, at: mf.at, by: mf.by}, as)
		case err == nil || mf.acked == 0 || errors.As(err, new(*atomicfile.SyncError)):
			return err
		default:
			l.box.notArchived(err)
		}
	}
	if len(mf.msgs) == 0 {
		return nil
	}
	size, offers := l.hideOthers(mf.msgs)
	if !offers && (mf.by == "" || mf.read || as.archived-mf.archived < reread) {
		return nil // the file stays as it is
	}
	err = mf.rename(func(next *mailFile) {
		if !mf.read { // the archive has no message of the file yet, and will have them after this place
			next.archived = as.archived
		}
		if offers {
			next.count, next.at, next.by = len(mf.msgs), as.at, as.by
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another reader acked it between our open and our lock
	}
	if err != nil || !offers {
		return err
	}
	taken = true
	l.files = append(l.files, mf)
	l.size += size
	return nil
}

// hideOthers marks the messages that are not offered now as hidden, and returns the size of all
// others. The result offers is false if there are no others.
func (l *Lease) hideOthers(msgs []mail.Message) (size int64, offers bool) {
	for i := range msgs {
		if msg := &msgs[i]; l.offers(*msg) {
			offers = true
			size += int64(len(msg.Content))
		} else {
			msg.Hidden = true
		}
	}
	return size, offers
}

// archiveDone archives messages that were acked while the disk was full. If there is still no room,
// their file stays, but is never offered again.
func (l *Lease) archiveDone(ctx context.Context, mf *mailFile) error {
	if err := l.box.archive.Append(ctx, mf.by, mf.msgs, mf.archived); err != nil {
		l.box.notArchived(err)
		return nil
	}
	return l.box.remove(mf)
}

// takeInbox gives the inbox the next number, as a sender does, and leases that file.
func (l *Lease) takeInbox(ctx context.Context, as mailFile) error {
	m := l.box
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return err
	}
	n, ok := count(file)
	if ok && n == 0 {
		return nil // leave an empty inbox alone: moving it would wake watchers
	}
	mf := mailFile{dir: l.dir, number: as.number, count: n, bytes: int64(len(file))}
	if _, err := mf.newName(); err != nil && len(l.files) > 0 { // numbers become free again when these files are acked
		l.More = true
		return nil
	}
	if err := m.rotate(l.dir, mf); err != nil {
		return err
	}
	return l.takeFile(ctx, &mf, as)
}

// dropDoubles keeps only the first copy of a message that a crash left in two files.
func (l *Lease) dropDoubles() {
	seen := make(map[mail.Key]bool, l.count())
	for _, mf := range l.files {
		mf.msgs = slices.DeleteFunc(mf.msgs, func(msg mail.Message) bool {
			before := len(seen)
			seen[msg.Key()] = true
			return len(seen) == before && !msg.HasLegacyID()
		})
	}
}

// assignHandles gives each message a handle, and puts the offered messages of all files into
// l.Messages.
func (l *Lease) assignHandles() {
	n := l.count()
	l.Messages = make([]mail.Message, 0, n)
	handles := make(map[string]bool, n)
	for _, mf := range l.files {
		for i := range mf.msgs {
			msg := &mf.msgs[i]
			msg.LeaseHandle = msg.ID
			for n := 2; handles[msg.LeaseHandle]; n++ {
				msg.LeaseHandle = msg.ID + "#" + strconv.Itoa(n)
			}
			handles[msg.LeaseHandle] = true
		}
		for _, msg := range mf.msgs {
			if !msg.Hidden {
				l.Messages = append(l.Messages, msg)
			}
		}
	}
}

// offers reports whether the lease offers a message now.
func (l *Lease) offers(msg mail.Message) bool {
	if l.only != nil {
		return l.only(msg)
	}
	return l.all || !l.box.hides(msg)
}

// count returns how many messages the files have, hidden ones included.
func (l *Lease) count() (n int) {
	for _, mf := range l.files {
		n += len(mf.msgs)
	}
	return n
}

// Release gives the messages back: they wait again, before all later messages. Like a delivery,
// Release changes the time of the lock file and closes it, so that watchers notice.
func (l *Lease) Release() error {
	held := len(l.files) > 0
	err := l.close()
	if !held {
		return err
	}
	l.box.notify()
	f, ferr := l.box.root.OpenHandle(l.box.LockName(), os.O_RDWR)
	if ferr == nil {
		ferr = f.Close()
	}
	return errors.Join(err, ferr)
}

func (l *Lease) close() error {
	var errs []error
	for _, mf := range l.files {
		errs = append(errs, mf.file.Close())
	}
	if l.dir != nil {
		errs = append(errs, l.dir.Close())
	}
	l.files, l.dir = nil, nil
	return errors.Join(errs...)
}
