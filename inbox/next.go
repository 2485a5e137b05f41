package inbox

import (
	"bufio"
	"encoding/json"
	"io"

	"c2c/internal/atomicfile"
)

// Next returns the first message that the archive has after a place. The result behind is the place
// after this message. If there is no message, ok is false, and behind is the place where the next
// message will be. Next skips unreadable and ephemeral records. If the archive ends before the
// place, it is a new archive, so Next starts at its beginning.
func (s *Archive) Next(place int64) (r ArchiveRecord, behind int64, ok bool, err error) {
	a, err := s.open()
	if err != nil {
		return r, place, false, err
	}
	defer a.close()
	if place < 0 || place > a.end() {
		place = 0
	}
	behind, err = a.oldestFirst(place, func(record ArchiveRecord) (more bool) {
		if ok = !record.ContentDropped; ok {
			r = record
		}
		return !ok
	})
	return r, behind, ok, err
}

// Behind returns the records after a place, oldest first, and the place after them. If the archive
// ends before the place, another program has shortened it. Then Behind returns no records, because
// the caller has seen those that are left.
func (s *Archive) Behind(place int64) (records []ArchiveRecord, behind int64, err error) {
	a, err := s.open()
	if err != nil {
		return nil, 0, err
	}
	defer a.close()
	if a.end() < place {
		return nil, a.end(), nil
	}
	behind, err = a.oldestFirst(place, func(r ArchiveRecord) (more bool) {
		records = append(records, r)
		return true
	})
	return records, behind, err
}

// oldestFirst calls f with the records after a place, until f returns false, and returns the place
// after the last of them. It skips unreadable records.
func (a *snapshot) oldestFirst(place int64, f func(ArchiveRecord) (more bool)) (behind int64, err error) {
	for i, base := range a.bases {
		end := a.base
		if i+1 < len(a.bases) {
			end = a.bases[i+1]
		}
		if place >= end {
			continue
		}
		more := true
		err := a.withPart(base, func(file *atomicfile.Handle) (err error) {
			place, more, err = eachIn(file, base, max(place, base), f)
			return err
		})
		if err != nil || !more {
			return place, err
		}
		place = end // go on with the next file: a power cut may have left half a line at the end of this one
	}
	place = max(place, a.base)
	if a.newest == nil {
		return place, nil
	}
	behind, _, err = eachIn(a.newest, a.base, place, f)
	return behind, err
}

// maxNext is larger than any line of ours: a body of 256 KiB may be six times as long in JSON.
const maxNext = 8 << 20

// eachIn is oldestFirst for one file, which begins at the place base. It ignores a last line
// without a newline, because that line may be incomplete.
func eachIn(file io.ReaderAt, base, place int64, f func(ArchiveRecord) (more bool)) (behind int64, more bool, err error) {
	lines := bufio.NewReader(io.NewSectionReader(file, place-base, atomicfile.MaxFile))
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
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return place, true, err
		}
		place += int64(size)
		var r ArchiveRecord
		if size <= maxNext && json.Unmarshal(line, &r) == nil && !f(r) {
			return place, false, nil
		}
		line, size = line[:0], 0
	}
}
