package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Where a message is.
const (
	Queued = "queued" // it waits
	Handed = "handed" // a live reader has it and has not acknowledged it
	Read   = "read"   // it was handed over in full and archived
)

// State is what the disk proves about one message.
type State struct {
	Where   string    // "" when this mailbox has never seen it
	At      time.Time // when it came there
	By      string    // the reader, when handed or read
	Message Message
}

// Find tells where the message is.
func (m *Mailbox) Find(ctx context.Context, id string) (State, error) {
	lk, err := m.lockToLook(ctx)
	if err != nil {
		return State{}, err
	}
	defer lk.Release()
	return m.find(id)
}

func (m *Mailbox) find(id string) (State, error) {
	// The archive first: what an interrupted ack left in two places was read.
	if st, err := m.findArchived(id); err != nil || st.Where != "" {
		return st, err
	}
	var st State
	err := m.eachWaiting(math.MaxInt64, func(msg Message, holder *chunk) {
		if msg.ID != id || st.Where != "" {
			return
		}
		st = State{Where: Queued, At: msg.Time(), Message: msg}
		if holder != nil {
			st.Where, st.At, st.By = Handed, holder.at, holder.by
		}
		if holder != nil && holder.done {
			st.Where = Read
		}
	})
	return st, err
}

// findArchived reads the newest file first. A record is only parsed when it mentions the id.
func (m *Mailbox) findArchived(id string) (st State, err error) {
	archive, err := m.openArchive()
	if err != nil {
		return st, err
	}
	defer archive.close()
	ids := map[string]bool{id: true}
	err = archive.newestFirst(0, func(f *os.File, _ int64) (bool, error) {
		err := eachBlock(f, func(lines []byte) bool {
			if !mentions(lines, ids) {
				return true
			}
			for line := range bytes.Lines(lines) {
				var a Archived
				if mentions(line, ids) && json.Unmarshal(line, &a) == nil && a.ID == id {
					st = State{Read, fromSeconds(a.DrainedAt), a.DrainedBy, a.Message}
				}
			}
			return st.Where == ""
		})
		return st.Where == "", err
	})
	return st, err
}

// mentions says whether a message in data may have one of the ids. It looks for the bytes of the field, in the
// spelling of every known writer: parsing takes a hundred times as long.
func mentions(data []byte, ids map[string]bool) bool {
	field := []byte(`"message_id"`)
	for {
		i := bytes.Index(data, field)
		if i < 0 {
			return false
		}
		data = bytes.TrimLeft(data[i+len(field):], " \t\r\n")
		value, ok := bytes.CutPrefix(data, []byte(":"))
		value, ok2 := bytes.CutPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte(`"`))
		if !ok || !ok2 {
			continue
		}
		end := bytes.IndexByte(value, '"')
		if end < 0 {
			return false
		}
		if ids[string(value[:end])] || bytes.IndexByte(value[:end], '\\') >= 0 {
			return true
		}
	}
}

// Peek returns what waits, oldest first, and changes nothing. What a live
// reader has in its hands is not waiting.
func (m *Mailbox) Peek(ctx context.Context) ([]Message, error) {
	return m.Head(ctx, math.MaxInt64)
}

// Head is Peek for who needs only the oldest messages: it reads no further
// file once it has enough bytes.
func (m *Mailbox) Head(ctx context.Context, enough int64) ([]Message, error) {
	if some, err := m.Waiting(); err != nil || !some {
		return nil, err
	}
	lk, err := m.lockToLook(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	var msgs []Message
	seen := map[string]bool{} // what a crash left in two places is offered once
	err = m.eachWaiting(enough, func(msg Message, holder *chunk) {
		if holder == nil && (!seen[msg.ID] || msg.ID == "" || strings.HasPrefix(msg.ID, "legacy-")) {
			seen[msg.ID] = true
			msgs = append(msgs, msg)
		}
	})
	nameLegacy(msgs)
	return msgs, err
}

// eachWaiting calls f for every message that is not archived, file by file until
// it has enough bytes of those that wait; holder is nil unless a live reader has
// it or an ack of it waits for space. The caller holds the lock, so nobody
// adopts a chunk while we look at its lock.
func (m *Mailbox) eachWaiting(enough int64, f func(msg Message, holder *chunk)) error {
	size := int64(0)
	dir, err := m.root.Sub(m.leaseName(), false)
	if err == nil {
		defer dir.Close()
		size, err = m.eachLeased(dir, enough, f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if size >= enough {
		return nil
	}
	file, err := readIf(m.root, m.inboxName())
	waiting, _ := decode(file)
	for _, msg := range waiting {
		f(msg, nil)
	}
	return err
}

// eachLeased is eachWaiting for the lease directory; it returns the bytes of what waits there.
func (m *Mailbox) eachLeased(dir *atomicfile.Dir, enough int64, f func(Message, *chunk)) (size int64, err error) {
	cs, err := chunks(dir)
	if err != nil {
		return 0, err
	}
	for _, c := range cs {
		if size >= enough {
			break
		}
		waits, err := m.eachOf(dir, c, f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return size, err
		}
		size += waits
	}
	return size, nil
}

// eachOf is eachWaiting for one chunk; it returns the bytes of the bodies that wait in it. One that was
// read and could not be removed yet may be long, and must not hide what comes behind it.
func (m *Mailbox) eachOf(dir *atomicfile.Dir, c *chunk, f func(Message, *chunk)) (waits int64, err error) {
	file, err := dir.Open(c.name(), os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	free, err := filelock.FreeFile(file)
	if err != nil {
		return 0, err
	}
	c.file = file
	if _, err := c.read(); err != nil {
		return 0, err
	}
	var holder *chunk
	var gone map[string]bool
	if !free || c.done {
		holder = c
	} else if gone, err = m.handedOver(c); err != nil {
		return 0, err
	}
	for _, msg := range c.msgs {
		if gone[msg.ID] {
			continue
		}
		if holder == nil {
			waits += int64(len(msg.Content))
		}
		f(msg, holder)
	}
	return waits, nil
}
