package client

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"

	"c2c/internal/atomicfile"
)

// LogTail is how much of a log Records reads, in bytes.
const LogTail = 1 << 20

// Records reads the end of a log of JSON lines. It yields each line with its record, and skips
// lines of another form.
func Records[T any](log string) iter.Seq2[[]byte, T] {
	return func(yield func([]byte, T) bool) {
		for line := range bytes.Lines(Tail(log, LogTail)) {
			var r T
			if json.Unmarshal(line, &r) == nil && !yield(line, r) { // skip a line with an error: the first line may be incomplete
				return
			}
		}
	}
}

// Tail returns the last limit bytes of a client's log. It returns nil if it cannot read the file.
// The first line may be incomplete.
func Tail(path string, limit int64) []byte {
	f, size, err := atomicfile.OpenForeign(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data := make([]byte, min(size, limit))
	n, err := f.ReadAt(data, size-int64(len(data)))
	if err != nil && err != io.EOF { // the file may just have become shorter
		return nil
	}
	return data[:n]
}
