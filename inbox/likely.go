package inbox

import (
	"slices"
	"sort"
	"strconv"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// madeAt is when a UUIDv7 was made.
func madeAt(id string) (at time.Time, ok bool) {
	if !mail.IsUUID(id) || id[14] != '7' {
		return at, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil
}

// likely are those numbered files in which a message with the id stands by all likelihood, and the rest, the newest first.
// They were the first to be written after the id was made. So is the oldest, which a reader writes anew who hands over a part
// of it. Elsewhere it stands when mail has moved, or a clock was wrong.
func likely(files []*mailFile, ids map[string]bool) (some, rest []*mailFile) {
	slices.Reverse(files)
	if len(ids) != 1 || len(files) == 0 {
		return nil, files
	}
	for id := range ids {
		made, ok := madeAt(id)
		if !ok {
			return nil, files
		}
		files, oldest := files[:len(files)-1], files[len(files)-1]
		older := func(than time.Time) int { // the place of the first file that is
			return sort.Search(len(files), func(i int) bool {
				written, _, err := files[i].dir.TimeOf(files[i].name())
				return err != nil || written.Before(than)
			})
		}
		end := older(made.Add(-atomicfile.ClockTick))
		begin := max(0, min(older(made.Add(atomicfile.ClockTick)), end)-1)
		some = append(slices.Clone(files[begin:end]), oldest)
		rest = slices.Delete(slices.Clone(files), begin, end)
	}
	return some, rest
}
