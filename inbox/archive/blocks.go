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

// blockSize is how much of an archive is read at once. A block stays in the processor's cache while it is searched. All blocks use
// the same memory, because the first access to a page takes longer than searching it.
const blockSize = 256 << 10

// A backReader reads files from the end, in blocks of whole lines.
type backReader struct {
	buf  []byte
	size int // of a block; 0: blockSize
}

// read calls f with the lines of a file after the place from, the last block first, until f returns false. The bytes are valid only
// during the call. Together f gets the bytes that readBehind returns, except for the newline between two blocks.
func (r *backReader) read(file *atomicfile.Handle, from int64, f func(lines []byte) (more bool)) (more bool, err error) {
	end, err := file.SizeNow()
	if err != nil {
		return false, err
	}
	from = max(0, from, end-atomicfile.MaxFile)
	part := 0 // buf[:part] is the rest of a line that begins before end
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
		if got < n { // the file was truncated meanwhile, so the rest of the line is lost
			lines = lines[:got]
		}
		end = begin
		if begin == from {
			return f(lines), nil
		}
		if part = bytes.IndexByte(lines, '\n'); part < 0 { // the line is longer
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

// eachFile calls f with each file that has data after the place since, newest first, until f returns false. base is the place where
// the file begins.
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // unless it was pruned meanwhile
			return err
		}
	}
	return nil
}

// newestFirst calls f with the lines that each file has after the place since, newest file first, until f returns false. The bytes
// are valid only during the call.
func (a *snapshot) newestFirst(since int64, f func(lines []byte) (more bool)) error {
	var lines []byte
	return a.eachFile(since, func(file *atomicfile.Handle, base int64) (more bool, err error) {
		if lines, err = readBehind(file, since-base, lines); err != nil {
			return false, err
		}
		return f(lines), nil
	})
}

// blocksNewestFirst is newestFirst in blocks, for searches.
func (a *snapshot) blocksNewestFirst(since int64, f func(lines []byte) (more bool)) error {
	var r backReader
	return a.eachFile(since, func(file *atomicfile.Handle, base int64) (bool, error) { return r.read(file, since-base, f) })
}
