// Package inbox keeps one session's mail on disk: deliver, peek, lease, ack,
// history.
//
// In the root, for a session <sid>:
//
//	<sid>.lease/<number>-….json   older mail, in numbered files (mailfile.go)
//	<sid>.inbox.json              the newest mail, at most 60 KiB
//	<sid>.inbox.lock              the lock of both (package filelock)
//	archive/<sid>.jsonl           messages that were handed over, and older ones in
//	                              archive/<sid>.old/ (package archive)
//
// A mailbox is a row of files in one format, a JSON array of messages: the
// numbered files in their order, then the inbox. A reader takes mail by renaming
// the inbox to the next number, and by locking the file. A sender for whose
// message the inbox has no room renames it in the same way, and leaves the file to
// nobody. These rules hold at any time, between any two system calls:
//
//   - A message is in one file of the row, or in the archive. It is in both only
//     while an ack is under way. The number that a reader put into the name of
//     the file says where to look in the archive; what stands there was read.
//   - A file is in a reader's hands as long as the reader locks it. The lock ends
//     with its process, and then the messages wait again, in their place.
//   - A name counts what waits in its file. A sender reads no other file than the
//     inbox, and a reader that gives back a part renames the file before it
//     writes the file anew. A file never changes its number.
//   - Who changes a name holds the lock of the mailbox. Only a reader that has
//     handed over all that it had removes files without it.
//   - A sender is told "stored" when the file and all names that changed are
//     synced. A reader archives, and syncs that, before it removes anything.
//
// So after a kill or a power cut a message may be handed over twice, with the
// same id, and never zero times. Any number of processes may use a mailbox at
// once, those of the original c2c included. They see the inbox alone.
package inbox

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"c2c/inbox/archive"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/inbox/mail"
)

// ErrFull is what a sender can test for. It comes wrapped in a sentence of its own.
var ErrFull = errors.New("mailbox is full")

// maxInbox keeps our file below the 64 KiB at which the original c2c takes an
// inbox for empty and then erases it.
const maxInbox = 60 << 10

// Limits bound what one mailbox holds. Zero means the default.
type Limits struct {
	Body     int   // bytes of one body
	Messages int   // messages waiting
	Bytes    int64 // bytes waiting
}

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(l.Body, mail.MaxBody), cmp.Or(l.Messages, 20_000), cmp.Or(l.Bytes, 64<<20)}
}

// Config is what a mailbox needs from outside.
type Config struct {
	Limits Limits           // only tests set them
	Now    func() time.Time // nil: time.Now
	Log    Log              // nil: nothing is logged
	// Held says whether a message that the loop guard holds, and whose time has not come, is still held. Nil: it is.
	Held func(mail.Message) bool
	// Awaited says whether somebody waits for an answer, and takes it. Nil: nobody does.
	Awaited func(mail.Message) bool
}

// Mailbox is the mail of one session.
type Mailbox struct {
	row
	limits  Limits
	held    func(mail.Message) bool
	awaited func(mail.Message) bool
}

// row reads the files of a mailbox: it knows their names, their locks and their formats.
type row struct {
	root    *atomicfile.Dir
	sid     string
	now     func() time.Time
	log     Log
	archive *archive.Store
}

// Open names a mailbox. It does not touch the disk.
func Open(root *atomicfile.Dir, sid string, cfg Config) (*Mailbox, error) {
	if err := mail.CheckName("session id", sid); err != nil {
		return nil, err
	}
	m := &Mailbox{row: row{root: root, sid: sid, now: cfg.Now, log: cfg.Log}, limits: cfg.Limits.withDefaults(), held: cfg.Held, awaited: cfg.Awaited}
	if m.now == nil {
		m.now = time.Now
	}
	if m.log == nil {
		m.log = NoLog
	}
	m.archive = archive.New(root, sid, m.now, m.log)
	return m, nil
}

// Archive is what was handed over of the mailbox.
func (m *Mailbox) Archive() *archive.Store { return m.archive }

func (r *row) inboxName() string { return r.sid + ".inbox.json" }

// LeaseName is the directory, below the root, of the numbered files. A reader that ends closes its files there.
func (r *row) LeaseName() string { return r.sid + ".lease" }

// LockName is the file whose closing tells a watcher that something changed.
func (r *row) LockName() string { return r.sid + ".inbox.lock" }

func (r *row) lock(ctx context.Context) (*filelock.Lock, error) {
	return filelock.Acquire(ctx, r.root, r.LockName())
}

// lockToRead is lock for a caller that changes nothing. On a read-only file system it takes no lock, and needs none.
func (r *row) lockToRead(ctx context.Context) (*filelock.Lock, error) {
	lk, err := r.lock(ctx)
	if errors.Is(err, syscall.EROFS) {
		return &filelock.Lock{}, nil
	}
	return lk, err
}

// asideName is a new name for a damaged file. The log tells of it.
func (r *row) asideName() string {
	name := r.inboxName() + ".corrupt-" + r.now().UTC().Format("20060102T150405.000000")
	r.log.Warn("damaged file set aside", "session", r.sid, "copy", name)
	return name
}

// setAside gives a damaged file a second name, for a person to look at. Its place is then taken by a new file.
func (r *row) setAside(dir *atomicfile.Dir, name string) error {
	if err := dir.Link(name, r.root, r.asideName()); err != nil {
		return err
	}
	return r.root.Sync()
}

// Waiting says whether anything waits that no live reader has in its hands. It
// takes no lock, so a hook can afford it and a watcher does not wake itself.
func (r *row) Waiting() (some bool, err error) {
	if some, err := r.inboxWaits(); err != nil || some {
		return some, err
	}
	err = r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		for i := 0; i < len(files) && err == nil && !some; i++ {
			if !files[i].done {
				some, err = files[i].free(dir)
			}
		}
		return err
	})
	return some, err
}

// TakenBy says whether a reader was the last one who had some of the mail that is not acknowledged.
func (r *row) TakenBy(reader string) (some bool, err error) {
	err = r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		some = slices.ContainsFunc(files, func(mf *mailFile) bool { return mf.by == reader && !mf.done })
		return err
	})
	return some, err
}

// inboxWaits says whether anything is in the inbox.
func (r *row) inboxWaits() (bool, error) {
	f, err := r.root.OpenHandle(r.inboxName(), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return f.Size() > int64(len("[]\n")), f.Close()
}

// Used says whether the mailbox holds anything at all, a live reader's mail included. It takes no lock.
func (r *row) Used() (some bool, err error) {
	if some, err := r.inboxWaits(); err != nil || some {
		return some, err
	}
	err = r.inLease(func(dir *atomicfile.Dir) error {
		names, err := dir.Names()
		some = len(names) > 0
		return err
	})
	return some, err
}

// Empty says, under the lock, whether the mailbox holds nothing: nothing waits,
// and no reader has anything in its hands. A name that is not ours is nothing.
func (r *row) Empty(ctx context.Context) (bool, error) {
	lk, err := r.lockToRead(ctx)
	if err != nil {
		return false, err
	}
	defer lk.Release()
	some, err := r.inboxWaits()
	if err != nil || some {
		return false, err
	}
	err = r.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		for _, mf := range files {
			f, ferr := mf.open(dir, os.O_RDONLY)
			if ferr == nil {
				ferr = f.Close()
				some = true
			}
			some = some || !errors.Is(ferr, fs.ErrNotExist) && !errors.Is(ferr, errForeign)
		}
		return err
	})
	return !some && err == nil, err
}

// inLease runs f with the lease directory if there is one.
func (r *row) inLease(f func(*atomicfile.Dir) error) error {
	dir, err := r.root.Sub(r.LeaseName(), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(dir)
}
