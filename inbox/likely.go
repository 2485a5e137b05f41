package inbox

import (
	"slices"
	"sort"
	"strconv"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// madeAt returns the time at which a UUIDv7 was made.
func madeAt(id string) (at time.Time, ok bool) {
	if !mail.IsUUID(id) || id[14] != '7' {
		return at, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil
}

// The function likely splits the numbered files: some has the files that most likely have the
// message, rest has the others, and in both the newest file comes first. If there are several ids,
// or the id is no UUIDv7, all files are in rest. A message is most likely in the first files that
// were written after its id was made. It may also be in the oldest file, because a reader rewrites
// this file when it hands over a part of it. It is in another file if mail was moved, or if a clock
// was wrong.
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
		older := func(than time.Time) int { // the index of the first file written before that time
			return sort.Search(len(files), func(i int) bool {
				info, err := files[i].dir.Stat(files[i].name())
				return err != nil || info.ModTime().Before(than)
			})
		}
		end := older(made.Add(-atomicfile.ClockTick))
		begin := max(0, min(older(made.Add(atomicfile.ClockTick)), end)-1)
		some = append(slices.Clone(files[begin:end]), oldest)
		rest = slices.Delete(slices.Clone(files), begin, end)
	}
	return some, rest
}
