package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"c2c/inbox/mail"
)

// End is the place behind all that is archived. Places count bytes since the first message was archived, so they
// mean the same when an older part has been pruned.
func (s *Store) End() (int64, error) {
	a, err := s.open()
	if err != nil {
		return 0, err
	}
	defer a.close()
	return a.end(), nil
}

// Since collects the messages behind a place.
func (s *Store) Since(place int64) (map[mail.Key]bool, error) {
	a, err := s.open()
	if err != nil {
		return nil, err
	}
	defer a.close()
	return a.since(place)
}

// since is Store.Since. An archive that ends before the place has lost its newest file, and is read whole.
func (a *snapshot) since(place int64) (map[mail.Key]bool, error) {
	if place > a.end() {
		place = 0
	}
	found := map[mail.Key]bool{}
	err := a.newestFirst(place, func(lines []byte) bool {
		for _, r := range recordsIn(lines) {
			found[r.RecordKey()] = true
		}
		return true
	})
	return found, err
}

// eachBackwards calls f for the lines, the last one first, until it returns false.
func eachBackwards(lines []byte, f func(line []byte) (more bool)) {
	for {
		end := bytes.LastIndexByte(lines, '\n')
		if !f(lines[end+1:]) || end < 0 {
			return
		}
		lines = lines[:end]
	}
}

// History returns what was handed over, newest first, at most limit of it.
func (s *Store) History(ctx context.Context, limit int) (found []Record, err error) {
	if limit <= 0 {
		return nil, nil
	}
	every := func([]byte) bool { return true }
	err = s.Newest(ctx, 0, every, every, func(record Record) bool {
		if !record.ContentDropped {
			found = append(found, record)
		}
		return len(found) < limit
	})
	return found, err
}

// Behind gives the records behind a place, oldest first, and the place behind them. Of an archive that somebody has shortened
// it gives nothing: what it has now was told.
func (s *Store) Behind(place int64) (records []Record, behind int64, err error) {
	a, err := s.open()
	if err != nil {
		return nil, 0, err
	}
	defer a.close()
	if a.end() < place {
		return nil, a.end(), nil
	}
	behind = max(place, a.base)
	var parts [][]Record
	err = a.newestFirst(place, func(lines []byte) bool {
		if len(parts) == 0 && a.newest != nil {
			lines = lines[:bytes.LastIndexByte(lines, '\n')+1] // a line may be on its way
			behind += int64(len(lines))
		}
		parts = append(parts, recordsIn(lines))
		return true
	})
	slices.Reverse(parts)
	return slices.Concat(parts...), behind, err
}

// Newest calls f with the records behind a place, the newest first, until it returns false or ctx ends. Only a line that
// mayBe says yes to is parsed, and no block of lines is looked through that mayHold says no to.
func (s *Store) Newest(ctx context.Context, since Mark, mayHold, mayBe func(lines []byte) bool, f func(Record) (more bool)) error {
	a, err := s.open()
	if err != nil {
		return err
	}
	defer a.close()
	err = a.blocksNewestFirst(int64(since), func(lines []byte) bool {
		more := true
		if mayHold(lines) {
			eachBackwards(lines, func(line []byte) bool {
				var record Record
				if mayBe(line) && json.Unmarshal(line, &record) == nil {
					more = f(record)
				}
				return more
			})
		}
		return more && ctx.Err() == nil
	})
	return errors.Join(err, ctx.Err())
}
