// Package inbox keeps one session's mail on disk. Senders deliver messages. A reader leases the
// messages that wait, hands them over to the session's client, and acks them; then they are in the
// archive.
//
// In the root, for a session <sid>:
//
//	<sid>.lease/<number>-….json   older mail, in numbered files (mailfile.go)
//	<sid>.inbox.json              the newest mail, at most 60 KiB
//	<sid>.inbox.lock              the lock of both (internal/atomicfile)
//	archive/<sid>.jsonl           messages that were handed over, and older ones in
//	                              archive/<sid>.old/
//
// A mailbox is a row of files in one format, a JSON array of messages: the numbered files in their
// order, then the inbox. A reader takes mail by renaming the inbox to the next number, and by
// locking the file. A sender renames the inbox in the same way when its message does not fit, but
// does not lock the file. These rules hold between any two system calls:
//
//   - A message is in one of these files, or in the archive. It is in both only while an ack is
//     under way. A reader that takes a file puts the size of the archive into the file's name. If
//     the archive has a message of the file after that place, this message was read.
//   - A reader has a file leased as long as it holds the file's own lock. The lock ends with the
//     reader's process. Then the messages wait again, in their old order.
//   - The name of a file says how many messages wait in it, because a sender reads no other file
//     than the inbox. A reader that gives back some of the messages renames the file before it
//     writes the file anew. A file never changes its number.
//   - A process that renames or removes a file holds the mailbox's lock. The exception is a reader
//     that has handed over all messages that it leased: it removes their files without that lock.
//   - A sender learns that its message is stored when the file and all changed names are synced. A
//     reader writes messages to the archive, and syncs the archive, before it removes them from a
//     file.
//
// So after a kill or a power cut a message may be handed over twice, with the same id, but it is
// never lost. Any number of processes may use a mailbox at once. A program that knows only the
// inbox and its lock may write there, and reads the newest mail.
package inbox

import (
	"cmp"
	"errors"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// ErrFull says that a mailbox has no room for a message. Errors wrap it, and add the details.
var ErrFull = errors.New("mailbox is full")

// maxInbox bounds the inbox, which each sender reads and replaces. Programs that know only the
// inbox read no file of 64 KiB or more.
const maxInbox = 60 << 10

// mostMessages and mostBytes bound the mail that may wait in a mailbox.
const (
	mostMessages = 20_000
	mostBytes    = 64 << 20
)

// Config is what the caller of Open passes in.
type Config struct {
	Most int              // how many messages may wait, for tests; 0: mostMessages
	Now  func() time.Time // nil: time.Now
	Log  Log              // nil: nothing is logged
	// Held is called for a message that the loop guard has held, and whose time has not come. It
	// reports whether the guard still holds the message. nil: the guard does.
	Held func(mail.Message) bool
	// Awaited reports whether a waiting question takes this message as its answer. nil: none does.
	Awaited func(mail.Message) bool
}

// Mailbox is the mail of one session.
type Mailbox struct {
	row
	most    int // how many messages may wait
	held    func(mail.Message) bool
	awaited func(mail.Message) bool
}

// Open returns a mailbox. It does not touch the disk.
func Open(root *atomicfile.Dir, sid string, cfg Config) (*Mailbox, error) {
	if err := mail.CheckName("session id", sid); err != nil {
		return nil, err
	}
	m := &Mailbox{row: row{root: root, sid: sid, now: cfg.Now, log: cfg.Log}, most: cmp.Or(cfg.Most, mostMessages), held: cfg.Held, awaited: cfg.Awaited}
	if m.now == nil {
		m.now = time.Now
	}
	if m.log == nil {
		m.log = NoLog
	}
	m.archive = NewArchive(root, sid, m.now, m.log)
	return m, nil
}

// Archive returns the archive of this mailbox.
func (m *Mailbox) Archive() *Archive { return m.archive }

// hides reports whether a lease keeps a message back now. Other programs that read the mailbox get
// the message all the same.
func (m *Mailbox) hides(msg mail.Message) bool {
	if msg.InReplyTo != "" && m.awaited != nil && m.awaited(msg) {
		return true
	}
	if msg.ExpiresAt == 0 && msg.NotBefore == 0 && msg.Held == "" {
		return false
	}
	now := mail.Seconds(m.now())
	return msg.Expired(now) || msg.KeptBack(now) && (msg.Held == "" || m.held == nil || m.held(msg))
}
