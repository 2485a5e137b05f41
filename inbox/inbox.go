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
	"errors"
	"time"

	"c2c/inbox/archive"
	"c2c/inbox/atomicfile"
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

// hides says whether a message is not handed over now. Other programs hand it over all the same.
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
