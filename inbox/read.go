package inbox

import (
	"context"
	"errors"

	"c2c/inbox/mail"
)

// End returns the place after the last record. Places count all bytes since the first message was
// archived, so they keep their meaning when older files are pruned.
func (s *Archive) End() (int64, error) {
	a, err := s.open()
	if err != nil {
		return 0, err
	}
	defer a.close()
	return a.end(), nil
}

// Since returns the keys of the messages after a place.
func (s *Archive) Since(place int64) (map[mail.Key]bool, error) {
	a, err := s.open()
	if err != nil {
		return nil, err
	}
	defer a.close()
	return a.since(place)
}

// The method since is Archive.Since for one snapshot. If the archive ends before the place, it has
// lost its newest file. Then the method reads everything that is left.
func (a *snapshot) since(place int64) (map[mail.Key]bool, error) {
	if place > a.end() {
		place = 0
	}
	found := map[mail.Key]bool{}
	err := a.newestFirst(place, func(lines []byte) bool {
		return eachRecord(lines, nil, func(r ArchiveRecord) (more bool) {
			found[r.RecordKey()] = true
			return true
		})
	})
	return found, err
}

// History returns at most limit records, newest first.
func (s *Archive) History(ctx context.Context, limit int) (found []ArchiveRecord, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.Newest(ctx, 0, nil, nil, func(record ArchiveRecord) bool {
		if !record.ContentDropped {
			found = append(found, record)
		}
		return len(found) < limit
	})
	return found, err
}

// Newest calls f with the records after a place, newest first, until f returns false or ctx ends.
// It does not parse blocks for which the function mayHold returns false, or lines for which the
// function mayBe returns false. If one of these functions is nil, it parses all.
func (s *Archive) Newest(ctx context.Context, since Mark, mayHold, mayBe func(lines []byte) bool, f func(ArchiveRecord) (more bool)) error {
	a, err := s.open()
	if err != nil {
		return err
	}
	defer a.close()
	err = a.newestFirst(int64(since), func(lines []byte) bool {
		more := mayHold != nil && !mayHold(lines) || eachRecord(lines, mayBe, f)
		return more && ctx.Err() == nil
	})
	return errors.Join(err, ctx.Err())
}
