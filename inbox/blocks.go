package inbox

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"

	"c2c/internal/atomicfile"
)

// blockSize is the number of bytes of an archive that are read at once. A block of this size stays
// in the processor's cache while it is searched. All blocks use the same memory, because the first
// access to a new page of memory takes longer than the search of a page.
const blockSize = 256 << 10

// A backReader reads files from the end, in blocks of whole lines.
type backReader struct {
	buf  []byte
	size int // of a block, in bytes; 0: blockSize
}

// The method read calls f with blocks of lines of a file, the last block first, until f returns
// false. It reads only what is after the offset start. The bytes are valid only during the call of
// f. All blocks together have the bytes that readBehind returns, except for the newlines between
// two blocks.
func (r *backReader) read(file *atomicfile.Handle, start int64, f func(lines []byte) (more bool)) (more bool, err error) {
	end, err := file.SizeNow()
	if err != nil {
		return false, err
	}
	start = max(0, start, end-atomicfile.MaxFile)
	part := 0 // buf[:part] is the end of a line whose beginning lies before the offset end, and is not read yet
	size := int64(cmp.Or(r.size, blockSize))
	for step := size; end > start; {
		begin := max(start, end-step)
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
		if got < n { // the file was truncated meanwhile, so the rest of the line is lost
			lines = lines[:got]
		}
		end = begin
		if begin == start {
			return f(lines), nil
		}
		if part = bytes.IndexByte(lines, '\n'); part < 0 { // the line is longer than what was read
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

// eachFile calls f with each file that has data after this place, newest first, until f returns
// false. The argument base of f is the place where the file begins.
func (a *snapshot) eachFile(place int64, f func(file *atomicfile.Handle, base int64) (more bool, err error)) error {
	file, base, end := a.newest, a.base, a.end()
	for i := len(a.bases) - 1; end > place; i-- {
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing file was pruned meanwhile
			return err
		}
	}
	return nil
}

// newestFirst calls f with the lines after a place, in blocks, newest first, until f returns false.
// The bytes are valid only during the call.
func (a *snapshot) newestFirst(place int64, f func(lines []byte) (more bool)) error {
	var r backReader
	return a.eachFile(place, func(file *atomicfile.Handle, base int64) (bool, error) { return r.read(file, place-base, f) })
}
