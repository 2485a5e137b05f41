package inbox

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Lease is a batch of messages in the hands of one reader. It lives as long
// as its process, and ends with Ack or Release.
type Lease struct {
	Messages []mail.Message
	More     bool // something waits behind these messages

	box   *Mailbox
	dir   *atomicfile.Dir
	files []*mailFile // locked
	size  int64       // bytes of the bodies
	all   bool        // see LeaseAll
	only  func(mail.Message) bool
}

// Lease hands over the waiting messages, oldest first; those that a dead holder had come
// before all others. It takes no further file once it has enough bytes. by names the
// reader in the archive. It needs no space on the disk. The messages are offered
// again unless Ack follows.
func (m *Mailbox) Lease(ctx context.Context, by string, enough int64) (*Lease, error) {
	return m.lease(ctx, by, enough, &Lease{box: m})
}

// LeaseAll is Lease for a move of mail: it takes also what is not handed over now, see PeekAll.
func (m *Mailbox) LeaseAll(ctx context.Context, by string, enough int64) (*Lease, error) {
	return m.lease(ctx, by, enough, &Lease{box: m, all: true})
}

// LeaseOnly leases only messages that match, held ones included. Others stay where they are; those in the same file nobody else
// can lease meanwhile.
func (m *Mailbox) LeaseOnly(ctx context.Context, by string, matches func(mail.Message) bool) (*Lease, error) {
	return m.lease(ctx, by, math.MaxInt64, &Lease{box: m, only: matches})
}

func (m *Mailbox) lease(ctx context.Context, by string, enough int64, l *Lease) (*Lease, error) {
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
	if err := l.take(ctx, by, enough); err != nil {
		l.Release()
		return nil, err
	}
	l.assignHandles()
	return l, nil
}

// removeLeftovers removes half-written files and queued messages of processes that died, and lists the mail files.
// The caller holds the lock.
func removeLeftovers(dir *atomicfile.Dir) ([]*mailFile, error) {
	names, err := dir.Names()
	for _, name := range names {
		if f := openQueued(dir, name); f != nil {
			f.Close()
		}
		if _, ok := parseMailFile(name); ok || !atomicfile.IsTemp(name) {
			continue
		}
		if info, serr := dir.Stat(name); serr == nil && info.Mode().IsRegular() {
			dir.Remove(name) // when it fails, the next one tries again
		}
	}
	return mailFilesOf(takeOldLeases(dir, names)), err
}

func (l *Lease) take(ctx context.Context, by string, enough int64) error {
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
		if l.size >= enough {
			l.More = true
		} else if err := l.takeFile(ctx, mf, next); err != nil {
			return err
		}
	}
	if l.size >= enough {
		some, err := m.inboxWaits()
		l.More = l.More || some
		return err
	}
	next.number++
	return l.takeInbox(ctx, next)
}

// reread is how much of the archive may be read, in bytes, at each look at a file that a reader had before. What is not
// handed over now may stay in such a file for days, while other mail is archived.
const reread = 64 << 10

// takeFile takes a numbered file unless a live reader has it. What a dead reader
// has archived of it is not handed over again.
func (l *Lease) takeFile(ctx context.Context, mf *mailFile, as mailFile) (err error) {
	free, err := l.box.load(l.dir, mf, true)
	switch {
	case errors.Is(err, errForeign):
		l.box.log.Warn("a file in the mailbox is passed over", "session", l.box.sid, "err", err)
		return nil
	case errors.Is(err, fs.ErrNotExist): // acknowledged just now
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
	if len(mf.msgs) == 0 || len(mf.acked) > 0 {
		switch err := l.keepRest(ctx, mf, nobody); {
		case err == nil && len(mf.msgs) > 0: // it is another file now
			return l.takeFile(ctx, &mailFile{number: mf.number, count: mf.count, bytes: mf.bytes, archived: mf.archived, at: mf.at, by: mf.by}, as)
		case err == nil || len(mf.acked) == 0 || errors.As(err, new(*atomicfile.SyncError)):
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
		return nil // it stays as it is
	}
	err = l.rename(mf, func(next *mailFile) {
		if !mf.read { // so none of its messages is archived before this place
			next.archived = as.archived
		}
		if offers {
			next.count, next.at, next.by = len(mf.msgs), as.at, as.by
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // acknowledged between our open and its lock
	}
	if err != nil || !offers {
		return err
	}
	taken = true
	l.files = append(l.files, mf)
	l.size += size
	return nil
}

// hideOthers marks the messages that are not handed over now, and gives the bytes of the others; offers is false when there are none.
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

// remove deletes a numbered file. A damaged one is moved beside the inbox instead.
func (l *Lease) remove(mf *mailFile) error {
	m := l.box
	var err error
	if mf.damaged {
		err = l.dir.Move(mf.name(), m.root, m.asideName())
	} else {
		err = l.dir.Remove(mf.name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// archiveDone archives what was acknowledged on a full disk. When there is still no
// room it stays; it is never handed over again.
func (l *Lease) archiveDone(ctx context.Context, mf *mailFile) error {
	if err := l.box.archive.Append(ctx, mf.by, mf.msgs, mf.archived); err != nil {
		l.box.notArchived(err)
		return nil
	}
	return l.remove(mf)
}

func (m *Mailbox) notArchived(err error) {
	m.log.Warn("acknowledged mail is not archived yet", "session", m.sid, "err", err)
}

// takeInbox gives the inbox the next number, as a sender does, and takes that file.
func (l *Lease) takeInbox(ctx context.Context, as mailFile) error {
	m := l.box
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return err
	}
	n, ok := count(file)
	if ok && n == 0 {
		return nil // an empty inbox is left alone: moving it would wake watchers
	}
	mf := mailFile{number: as.number, count: n, bytes: int64(len(file))}
	if _, err := mf.newName(); err != nil && len(l.files) > 0 { // there is a number again when those are acknowledged
		l.More = true
		return nil
	}
	if err := m.rotate(l.dir, mf); err != nil {
		return err
	}
	return l.takeFile(ctx, &mf, as)
}

// assignHandles puts the files' messages in one row. A message that a crash left in two
// places is offered once.
func (l *Lease) assignHandles() {
	n := 0
	for _, mf := range l.files {
		n += len(mf.msgs)
	}
	l.Messages = slices.Grow(l.Messages, n)
	handles, seen := make(map[string]bool, n), make(map[mail.Key]bool, n)
	for _, mf := range l.files {
		mf.msgs = slices.DeleteFunc(mf.msgs, func(msg mail.Message) bool {
			before := len(seen)
			seen[msg.Key()] = true
			return len(seen) == before && !msg.HasLegacyID()
		})
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

// offers says whether a message is handed over now.
func (l *Lease) offers(msg mail.Message) bool {
	if l.only != nil {
		return l.only(msg)
	}
	return l.all || !l.box.hides(msg)
}

// holdsMore says whether there are messages in the files that were not offered.
func (l *Lease) holdsMore() bool {
	n := 0
	for _, mf := range l.files {
		n += len(mf.msgs)
	}
	return n > len(l.Messages)
}

// Release gives the messages back; they wait again, before any later ones. It
// changes and closes the lock file, as a delivery does, so that watchers look.
func (l *Lease) Release() error {
	held := len(l.files) > 0
	err := l.close()
	if !held {
		return err
	}
	l.box.notify()
	f, ferr := l.box.root.Open(l.box.LockName(), os.O_RDWR)
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

// Ack says that the messages with these handles were handed over: they go to the
// archive, and the others wait again, where they were. When the archive has no room
// for all messages of the lease, their ack is recorded all the same, and a later Lease
// archives them. On an error nothing is lost; what could not be recorded may be handed
// over again. The lease ends.
func (l *Lease) Ack(ctx context.Context, handles ...string) error {
	return l.ack(ctx, handles, nil)
}

// AckAndRemove is Ack for some messages and Remove for others, at once.
func (l *Lease) AckAndRemove(ctx context.Context, read, removed []string) error {
	return l.ack(ctx, read, removed)
}

// Remove is Ack for messages that nobody has read here, and that the caller has
// put elsewhere: the archive gets no record, which would refuse them when they
// come back.
func (l *Lease) Remove(ctx context.Context, handles ...string) error {
	return l.ack(ctx, nil, handles)
}

// Handles gives the handles of messages.
func Handles(msgs []mail.Message) (handles []string) {
	for _, msg := range msgs {
		handles = append(handles, msg.Handle())
	}
	return handles
}

func (l *Lease) ack(ctx context.Context, handles, removed []string) error {
	read, gone := setOf(handles), setOf(removed)
	settled := func(msg mail.Message) bool { return read[msg.Handle()] || gone[msg.Handle()] }
	acked, others := make([]mail.Message, 0, len(handles)), 0
	for _, msg := range l.Messages {
		if read[msg.Handle()] {
			acked = append(acked, msg)
		} else if gone[msg.Handle()] {
			others++
		}
	}
	if len(acked)+others == 0 {
		return l.Release()
	}
	var err error
	if len(acked) > 0 {
		if err = l.archivePending(ctx); err == nil {
			err = l.box.archive.Append(ctx, l.files[0].by, acked, l.since())
		}
	}
	all := len(acked)+others == len(l.Messages) && !l.holdsMore()
	return errors.Join(l.settle(ctx, settled, read, all, err), l.close())
}

// setOf makes a set of handles: a mailbox may have 20,000 messages.
func setOf(handles []string) map[string]bool {
	set := make(map[string]bool, len(handles))
	for _, h := range handles {
		set[h] = true
	}
	return set
}

// settle removes the messages that were handed over, or put elsewhere, from the files. When that fails, or notArchived says why the
// archive could not take those that were read, the names of the files record these: that needs no space.
func (l *Lease) settle(ctx context.Context, settled func(mail.Message) bool, read map[string]bool, all bool, notArchived error) error {
	if !all { // a file gets another name: nobody may look for the old one meanwhile
		lk, err := l.box.lock(ctx)
		if err != nil {
			return errors.Join(notArchived, err)
		}
		defer lk.Release()
	}
	err := notArchived
	if err == nil {
		if err = l.drop(ctx, settled); err == nil || len(read) == 0 || errors.As(err, new(*atomicfile.SyncError)) {
			return err
		}
	}
	if merr := l.markRead(func(msg mail.Message) bool { return read[msg.Handle()] }); merr != nil {
		return errors.Join(err, merr)
	}
	l.box.notArchived(err)
	return nil
}

// drop takes what was handed over out of the files.
func (l *Lease) drop(ctx context.Context, handed func(mail.Message) bool) error {
	for _, mf := range l.files {
		if err := l.keepRest(ctx, mf, handed); err != nil {
			return err
		}
	}
	return errors.Join(l.dir.Sync(), l.box.root.Sync())
}

// since is the place in the archive behind which the leased messages may be recorded already.
func (l *Lease) since() int64 {
	return slices.MinFunc(l.files, func(a, b *mailFile) int { return cmp.Compare(a.archived, b.archived) }).archived
}

// keepRest writes a file anew with the messages that still wait. The file gets its new name first. After a crash before the new
// content is in place, the old content does no harm: archived stays in the name, and messages that the archive has behind that
// place are not handed over again. Messages that were read before, on a full disk, are archived first. If the new content
// cannot be written, the file gets its old name back.
func (l *Lease) keepRest(ctx context.Context, mf *mailFile, handed func(mail.Message) bool) error {
	rest := slices.DeleteFunc(slices.Clone(mf.msgs), handed)
	if len(rest) > 0 && len(rest) == len(mf.msgs) && len(mf.acked) == 0 {
		return nil
	}
	if err := l.box.archive.Append(ctx, mf.by, mf.pending, mf.archived); err != nil {
		return err
	}
	if len(rest) == 0 {
		return l.remove(mf)
	}
	if mf.damaged {
		if err := l.box.setAside(l.dir, mf.name()); err != nil {
			return err
		}
	}
	file, before := encode(rest), *mf
	err := l.rename(mf, func(next *mailFile) { next.count, next.bytes, next.acked = len(rest), int64(len(file)), nil })
	if err != nil {
		return err
	}
	err = l.dir.Replace(mf.name(), file)
	if err != nil && !errors.As(err, new(*atomicfile.SyncError)) {
		err = errors.Join(err, l.rename(mf, func(next *mailFile) { next.count, next.bytes, next.acked = len(mf.msgs), before.bytes, before.acked }))
	}
	return err
}

// nobody is for keepRest, when nothing more was handed over.
func nobody(mail.Message) bool { return false }
