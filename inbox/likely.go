package inbox

import (
	"slices"
	"sort"
	"strconv"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// madeAt returns when a UUIDv7 was made.
func madeAt(id string) (at time.Time, ok bool) {
	if !mail.IsUUID(id) || id[14] != '7' {
		return at, false
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	return time.UnixMilli(ms), err == nil
}

// likely splits the numbered files: some are those that most likely have a message with one of the ids, and rest are the others,
// newest first. A message is most likely in the first files written after its id was made, or in the oldest file: a reader rewrites
// this file when it hands over a part of it. It is elsewhere when mail was moved, or a clock was wrong.
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
