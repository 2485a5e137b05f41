package inbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"c2c/internal/atomicfile"
)

// Next returns the first message that the archive has after a place. The result behind is the place after this message. If there is no
// message, ok is false, and behind is the place where the next message will be. Next skips unreadable and ephemeral records. If the
// archive ends before the place, it is a new archive, so Next starts at its beginning.
func (s *Archive) Next(place int64) (r ArchiveRecord, behind int64, ok bool, err error) {
	a, err := s.open()
	if err != nil {
		return r, place, false, err
	}
	defer a.close()
	if place < 0 || place > a.end() {
		place = 0
	}
	for i, base := range a.bases {
		end := a.base
		if i+1 < len(a.bases) {
			end = a.bases[i+1]
		}
		if place >= end {
			continue
		}
		f, err := a.old.OpenHandle(partName(base), os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this file was pruned just now
		}
		if err != nil {
			return r, place, false, err
		}
		r, behind, ok, err = firstIn(f, base, max(place, base))
		f.Close()
		if ok || err != nil {
			return r, behind, ok, err
		}
		place = end // go on with the next file: a power cut may have left half a line at the end of this one
	}
	place = max(place, a.base)
	if a.newest == nil {
		return r, place, false, nil
	}
	return firstIn(a.newest, a.base, place)
}

// maxNext is larger than any line of ours: a body of 256 KiB may be six times as long in JSON.
const maxNext = 8 << 20

// firstIn is Next for one file, which begins at the place base. It ignores a last line without a newline, because that line may be
// incomplete.
func firstIn(f io.ReaderAt, base, place int64) (r ArchiveRecord, behind int64, ok bool, err error) {
	lines := bufio.NewReader(io.NewSectionReader(f, place-base, atomicfile.MaxFile))
	var line []byte
	size := 0 // how many bytes of the line were read
	for {
		piece, err := lines.ReadSlice('\n')
		if size += len(piece); size <= maxNext {
			line = append(line, piece...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF {
			return ArchiveRecord{}, place, false, nil
		}
		if err != nil {
			return ArchiveRecord{}, place, false, err
		}
		place += int64(size)
		r = ArchiveRecord{}
		if size <= maxNext && json.Unmarshal(line, &r) == nil && !r.ContentDropped {
			return r, place, true, nil
		}
		line, size = line[:0], 0
	}
}
