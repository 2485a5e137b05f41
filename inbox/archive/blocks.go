package archive

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"

	"c2c/inbox/atomicfile"
)

// blockSize is how much of an archive is read at once. A block stays in the processor's cache while it is searched, and all of
// them use the same memory: to touch a page for the first time takes longer than to search it.
const blockSize = 256 << 10

// A backReader reads files from the end, in blocks of whole lines.
type backReader struct {
	buf  []byte
	size int // of a block; 0: blockSize
}

// read calls f with the lines that a file has behind a place, the last block first, until f returns false. The bytes are valid
// only during the call. Between two blocks is a newline that belongs to neither; beside that they are what readBehind gives.
func (r *backReader) read(file *atomicfile.Handle, from int64, f func(lines []byte) (more bool)) (more bool, err error) {
	end, err := file.SizeNow()
	if err != nil {
		return false, err
	}
	from = max(0, from, end-atomicfile.MaxFile)
	part := 0 // how much of buf, at its beginning, is the rest of a line that begins before end
	size := int64(cmp.Or(r.size, blockSize))
	for step := size; end > from; {
		begin := max(from, end-step)
		n := int(end - begin)
		if n+part > cap(r.buf) {
			r.buf = append(make([]byte, 0, n+part+blockSize/8), r.buf[:part]...)
		}
		r.buf = r.buf[:n+part]
		copy(r.buf[n:], r.buf[:part])
		got, err := file.ReadAt(r.buf[:n], begin)
		if err != nil && err != io.EOF {
			return false, err
		}
		lines := r.buf
		if got < n { // it was cut meanwhile, so the rest of the line belongs to nothing
			lines = lines[:got]
		}
		end = begin
		if begin == from {
			return f(lines), nil
		}
		if part = bytes.IndexByte(lines, '\n'); part < 0 { // a longer line
			part, step = len(lines), 2*step
			continue
		}
		step = size
		if !f(lines[part+1:]) {
			return false, nil
		}
	}
	return true, nil
}

// eachFile calls f with each file that has something behind a place, the newest first, and with where it begins in the archive, until f
// returns false.
func (a *snapshot) eachFile(since int64, f func(file *atomicfile.Handle, base int64) (more bool, err error)) error {
	file, base, end := a.newest, a.base, a.end()
	for i := len(a.bases) - 1; end > since; i-- {
		if file != nil {
			more, err := f(file, base)
			if file != a.newest {
				file.Close()
			}
			if err != nil || !more {
				return err
			}
		}
		if i < 0 {
			return nil
		}
		base, end = a.bases[i], base
		var err error
		file, err = a.old.OpenHandle(partName(base), os.O_RDONLY)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // which was pruned meanwhile
			return err
		}
	}
	return nil
}

// newestFirst calls f with the lines that each file has behind a place, the newest file first, until f returns false.
// The bytes are valid only during the call.
func (a *snapshot) newestFirst(since int64, f func(lines []byte) (more bool)) error {
	var lines []byte
	return a.eachFile(since, func(file *atomicfile.Handle, base int64) (more bool, err error) {
		if lines, err = readBehind(file, since-base, lines); err != nil {
			return false, err
		}
		return f(lines), nil
	})
}

// blocksNewestFirst is newestFirst in blocks, for what is looked through.
func (a *snapshot) blocksNewestFirst(since int64, f func(lines []byte) (more bool)) error {
	var r backReader
	return a.eachFile(since, func(file *atomicfile.Handle, base int64) (bool, error) { return r.read(file, since-base, f) })
}
