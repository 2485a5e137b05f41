package inbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/fields"
	"c2c/inbox/filelock"
)

// Archived is a message that was handed over.
type Archived struct {
	Message
	DrainedAt float64 // Unix seconds
	DrainedBy string
	SessionID string
}

// MarshalJSON writes one line of the archive, the original's fields first.
func (a Archived) MarshalJSON() ([]byte, error) {
	b := appendSeconds([]byte(`{"drained_at":`), a.DrainedAt)
	b = fields.AppendText(append(b, `,"drained_by":`...), a.DrainedBy)
	b = fields.AppendText(append(b, `,"session_id":`...), a.SessionID)
	return append(a.appendFields(b, ","), '}'), nil
}

// UnmarshalJSON reads one line of the archive.
func (a *Archived) UnmarshalJSON(data []byte) error {
	var out Archived
	if err := out.Message.UnmarshalJSON(data); err != nil {
		return err
	}
	out.Extra = slices.DeleteFunc(out.Extra, func(f Field) bool {
		switch f.Name {
		case "drained_at":
			return json.Unmarshal(f.Value, &out.DrainedAt) == nil
		case "drained_by":
			return json.Unmarshal(f.Value, &out.DrainedBy) == nil
		case "session_id":
			return json.Unmarshal(f.Value, &out.SessionID) == nil
		}
		return false
	})
	*a = out
	return nil
}

const archiveDir = "archive"

func (m *Mailbox) archiveName() string { return m.sid + ".jsonl" }

// openArchive returns nil and no error when there is none.
func (m *Mailbox) openArchive() (*os.File, error) {
	dir, err := m.root.Sub(archiveDir, false)
	if err == nil {
		defer dir.Close()
		var f *os.File
		if f, err = dir.Open(m.archiveName(), os.O_RDONLY); err == nil {
			return f, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return nil, err
}

func (m *Mailbox) archiveSize() (int64, error) {
	f, err := m.openArchive()
	if f == nil {
		return 0, err
	}
	defer f.Close()
	return f.Seek(0, io.SeekEnd)
}

// archive appends messages, but for the ephemeral ones, and syncs them. What
// stands behind the offset since is not written again.
func (m *Mailbox) archive(ctx context.Context, by string, msgs []Message, since int64) error {
	if !slices.ContainsFunc(msgs, func(msg Message) bool { return !msg.Ephemeral }) {
		return nil
	}
	dir, err := m.root.Sub(archiveDir, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	lk, err := filelock.Acquire(ctx, dir, m.sid+".lock")
	if err != nil {
		return err
	}
	defer lk.Release()
	gone, err := m.archivedSince(since)
	if err != nil {
		return err
	}
	lines, err := m.archiveLines(by, msgs, gone)
	if err != nil || len(lines) == 0 {
		return err
	}
	torn, err := endsTorn(dir, m.archiveName())
	if err != nil {
		return err
	}
	if torn { // a line that a power cut left half is closed, and skipped by readers
		lines = append([]byte("\n"), lines...)
	}
	return dir.Append(m.archiveName(), lines)
}

func (m *Mailbox) archiveLines(by string, msgs []Message, gone map[string]bool) ([]byte, error) {
	var lines []byte
	now := seconds(m.now())
	for _, msg := range msgs {
		if msg.Ephemeral || gone[msg.ID] {
			continue
		}
		msg.Extra = slices.DeleteFunc(slices.Clone(msg.Extra), func(f Field) bool {
			return f.Name == "drained_at" || f.Name == "drained_by" || f.Name == "session_id"
		})
		line, err := Archived{msg, now, by, m.sid}.MarshalJSON()
		if err != nil {
			return nil, err
		}
		lines = append(append(lines, line...), '\n')
	}
	return lines, nil
}

func endsTorn(dir *atomicfile.Dir, name string) (bool, error) {
	f, err := dir.Open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], size-1)
	return last[0] != '\n', err
}

// archivedSince collects the ids behind an offset; a shorter file was pruned
// and is read whole.
func (m *Mailbox) archivedSince(offset int64) (map[string]bool, error) {
	ids := map[string]bool{}
	f, err := m.openArchive()
	if f == nil {
		return ids, err
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	} else if offset > size {
		offset = 0
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	err = eachLine(f, func(line []byte) bool {
		var a Archived
		if json.Unmarshal(line, &a) == nil {
			ids[a.ID] = true
		}
		return true
	})
	return ids, err
}

// maxLine is several times what the longest message takes, and maxHistory what a page of history takes.
const (
	maxLine    = 16 << 20
	maxHistory = 256 << 20
)

// eachLine passes over what is too long for a record of ours.
func eachLine(r io.Reader, f func([]byte) bool) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if len(line) > 0 && len(line) <= maxLine && !f(line) {
			return nil
		}
		line = nil
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// History returns what was handed over, newest first, at most limit of it.
func (m *Mailbox) History(ctx context.Context, limit int) ([]Archived, error) {
	f, err := m.openArchive()
	if f == nil || limit <= 0 {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	for window := int64(256 << 10); ; window *= 4 {
		start := max(0, size-window)
		data := make([]byte, size-start)
		if _, err := f.ReadAt(data, start); err != nil {
			return nil, err
		}
		found := lastLines(data, start > 0, limit)
		if len(found) == limit || start == 0 || window >= maxHistory {
			return found, ctx.Err()
		}
	}
}

// lastLines reads records from the end; the first line of a cut window is partial.
func lastLines(data []byte, cut bool, limit int) (found []Archived) {
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	if cut {
		lines = lines[1:]
	}
	for _, line := range slices.Backward(lines) {
		var a Archived
		if len(found) < limit && json.Unmarshal(line, &a) == nil {
			found = append(found, a)
		}
	}
	return found
}
