package client

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"

	"c2c/inbox/atomicfile"
)

// LogTail is how much of a log is read, in bytes.
const LogTail = 1 << 20

// Records reads the end of a log of JSON lines. It gives each with its line.
func Records[T any](log string) iter.Seq2[[]byte, T] {
	return func(yield func([]byte, T) bool) {
		for line := range bytes.Lines(Tail(log, LogTail)) {
			var r T
			if json.Unmarshal(line, &r) == nil && !yield(line, r) { // the first may be a part of a line
				return
			}
		}
	}
}

// Tail gives the end of a file in which a client writes a line for each thing that happens, at most so many bytes;
// nil when it cannot be read. The first line may be a part of one.
func Tail(path string, most int64) []byte {
	f, size, err := atomicfile.OpenForeign(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, size-most), most))
	if err != nil {
		return nil
	}
	return data
}
