package atomicfile

import (
	"bytes"
	"cmp"
	"io"
)

// blockSize is the number of bytes that a BackReader reads at once. A block of this size stays in
// the processor's cache while it is searched. All blocks use the same memory, because the first
// access to a new page of memory takes longer than the search of a page.
const blockSize = 256 << 10

// A BackReader reads files from the end, in blocks of whole lines.
type BackReader struct {
	Block int // the size of the first block, for a caller that usually needs no more; each later one is twice as large, up to blockSize. 0: blockSize
	buf   []byte
}

// Read calls f with blocks of lines of a file, the last block first, until f returns false. It reads
// what the file had when it was opened, after the offset start; of a file of more than MaxFile bytes
// it reads only the end. The bytes are valid only during the call of f. All blocks together have the
// bytes that were read, except for the newlines between two blocks.
func (r *BackReader) Read(file *Handle, start int64, f func(lines []byte) (more bool)) (more bool, err error) {
	end := file.Size()
	start = max(0, start, end-MaxFile)
	part := 0 // buf[:part] is the end of a line whose beginning lies before the offset end, and is not read yet
	for step := int64(cmp.Or(r.Block, blockSize)); end > start; {
		begin := max(start, end-step)
		n := int(end - begin)
		if n+part > cap(r.buf) {
			r.buf = append(make([]byte, 0, n+part+n/8), r.buf[:part]...)
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
		step = min(2*step, blockSize)
		if !f(lines[part+1:]) {
			return false, nil
		}
	}
	return true, nil
}

// EachBackwards calls f for the lines, last one first, until f returns false.
func EachBackwards(lines []byte, f func(line []byte) (more bool)) {
	for {
		end := bytes.LastIndexByte(lines, '\n')
		if !f(lines[end+1:]) || end < 0 {
			return
		}
		lines = lines[:end]
	}
}
