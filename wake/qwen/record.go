package qwen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// record reads a file from an offset to its end: the file in which the client records its current
// session. The file has lines of JSON. Each session has its own file.
type record struct {
	dir     string
	session func() string

	path   string // the file to which offset belongs
	offset int64  // the end of the last line that was read
	exists bool   // the session has a file
}

// maxLook is the maximum number of bytes that one call of newlyShown reads. A longer line holds no
// mail of ours.
const maxLook = 4 << 20

// skip moves the offset to the current end of the file.
func (r *record) skip() error {
	f, err := r.open()
	if f == nil {
		return err
	}
	defer f.Close()
	r.offset, err = f.Seek(0, io.SeekEnd)
	return err
}

// open returns the file of the client's present session, or nil if this session has no file. The
// client's command /clear begins another session.
func (r *record) open() (*os.File, error) {
	path := filepath.Join(r.dir, filepath.Base(r.session())+".jsonl")
	if path != r.path {
		r.path, r.offset = path, 0
	}
	f, _, err := atomicfile.OpenForeign(path)
	r.exists = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the client's record of its session: %w", err)
	}
	return f, nil
}

// newlyShown returns the messages in msgs that the client has given to its model since the last
// call.
func (r *record) newlyShown(msgs []mail.Message) (shown []mail.Message, err error) {
	f, err := r.open()
	if f == nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, r.offset, maxLook))
	if err != nil {
		return nil, fmt.Errorf("read the client's record of its session: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole == 0 && len(data) == maxLook {
		whole = maxLook
	}
	r.offset += int64(whole)
	texts := client.QwenNotes(data[:whole])
	for _, m := range msgs {
		if client.QwenShows(texts, m.Envelope()) {
			shown = append(shown, m)
		}
	}
	return shown, nil
}
