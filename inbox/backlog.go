package inbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"c2c/inbox/atomicfile"
)

// Backlog is what waits in a mailbox.
type Backlog struct {
	Count  int       // messages that no live reader has in its hands
	Oldest time.Time // when the first of them was sent; zero: not known
}

// maxFirst bounds what is read of a file to find its first message.
const maxFirst = 1 << 20

// Backlog takes no lock. It believes the names of the numbered files, and reads little: lists ask it of each session.
func (m *Mailbox) Backlog() (b Backlog, err error) {
	first := ""
	err = m.inLease(func(dir *atomicfile.Dir) error {
		files, err := mailFiles(dir)
		for _, mf := range files {
			if err != nil || mf.done || mf.count == 0 {
				continue
			}
			var free bool
			if free, err = mf.free(dir); free {
				if b.Count == 0 {
					first = mf.name()
				}
				b.Count += mf.count
			}
		}
		if first != "" {
			b.Oldest = oldest(dir, first)
		}
		return err
	})
	if err != nil {
		return b, err
	}
	n, at, err := m.inboxBacklog()
	if b.Count == 0 {
		b.Oldest = at
	}
	b.Count += n
	return b, err
}

func (m *Mailbox) inboxBacklog() (n int, first time.Time, err error) {
	if some, err := m.inboxWaits(); err != nil || !some {
		return 0, first, err
	}
	file, err := m.root.ReadIf(m.inboxName())
	if err != nil {
		return 0, first, err
	}
	n, _ = count(file)
	return n, firstOf(bytes.NewReader(file)), nil
}

// oldest is when the first message of a file was sent.
func oldest(dir *atomicfile.Dir, name string) time.Time {
	f, err := dir.Open(name, os.O_RDONLY)
	if err != nil {
		return time.Time{} // a reader has just removed it
	}
	defer f.Close()
	return firstOf(f)
}

// firstOf reads the first message of a file in our own layout, one a line.
func firstOf(file io.Reader) (at time.Time) {
	lines := bufio.NewReader(io.LimitReader(file, maxFirst))
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.Trim(line, "[], \t\r\n"); len(line) > 0 {
			var msg Message
			if msg.UnmarshalJSON(line) == nil {
				at = msg.Time()
			}
			return at
		}
		if err != nil {
			return at
		}
	}
}

// lastTail is how much of the archive is read at first to find its last record.
const lastTail = 4 << 10

// LastRead is when mail was handed over last; zero: never, or not known. The archive has a line for each message.
func (m *Mailbox) LastRead() (at time.Time, err error) {
	dir, err := m.root.Sub(archiveDir, false)
	if err != nil {
		return at, ifAny(err)
	}
	defer dir.Close()
	f, size, err := openSized(dir, m.archiveName())
	if err != nil {
		return at, ifAny(err)
	}
	defer f.Close()
	for most := int64(lastTail); ; most *= 16 {
		from := max(0, size-most)
		tail, err := readBehind(f, from, nil)
		if err != nil {
			return at, err
		}
		tail = bytes.TrimRight(tail, "\n")
		begin := bytes.LastIndexByte(tail, '\n') + 1
		if begin == 0 && from > 0 && most < maxFirst {
			continue // the last line is longer
		}
		var record struct {
			At float64 `json:"drained_at"`
		}
		if json.Unmarshal(tail[begin:], &record) == nil && record.At > 0 {
			at = FromSeconds(record.At)
		}
		return at, nil
	}
}

// ifAny passes over the error that something is not there.
func ifAny(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
