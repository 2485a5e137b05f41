package hooks

import (
	"io"

	"c2c/inbox/atomicfile"
)

// tail gives the end of a file in which a client writes a line for each thing that happens, at most so many bytes;
// nil when it cannot be read. The first line may be a part of one.
func tail(path string, most int64) []byte {
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
