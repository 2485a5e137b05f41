package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/fields"
	"c2c/inbox/mail"
)

// Archived is a message that was handed over.
type Archived struct {
	mail.Message
	DrainedAt float64 // Unix seconds
	DrainedBy string
	SessionID string
}

// MarshalJSON writes one line of the archive, the original's fields first.
func (a Archived) MarshalJSON() ([]byte, error) {
	return a.appendLine(nil), nil
}

func (a *Archived) appendLine(b []byte) []byte {
	b = fields.AppendSeconds(append(b, `{"drained_at":`...), a.DrainedAt)
	b = fields.AppendText(append(b, `,"drained_by":`...), a.DrainedBy)
	b = fields.AppendText(append(b, `,"session_id":`...), a.SessionID)
	return append(a.AppendFields(b, ","), '}')
}

// dropContent drops the content of an ephemeral message. What is left tells a sender who repeats it that it was
// read. The original passes over a record without content.
func (a *Archived) dropContent() { a.Content, a.Extra, a.ContentDropped = "", nil, true }

// UnmarshalJSON reads one line of the archive.
func (a *Archived) UnmarshalJSON(data []byte) error {
	var out Archived
	if err := out.Parse(data); err != nil {
		return err
	}
	if out.ContentDropped && !out.Ephemeral {
		return mail.ErrNoMessage
	}
	out.Extra = slices.DeleteFunc(out.Extra, func(f mail.Field) bool {
		switch f.Name {
		case "drained_at":
			return json.Unmarshal(f.Value, &out.DrainedAt) == nil
		case "drained_by":
			return json.Unmarshal(f.Value, &out.DrainedBy) == nil
		case "session_id":
			return json.Unmarshal(f.Value, &out.SessionID) == nil
		}
		return false
	})
	*a = out
	return nil
}

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

// Append appends messages and syncs them. Of an ephemeral one nothing is kept,
// or its id alone if its sender chose that. What stands behind the place since is
// not written again.
func (s *Store) Append(ctx context.Context, by string, msgs []mail.Message, since int64) error {
	if !slices.ContainsFunc(msgs, mail.Message.IsRecorded) {
		return nil
	}
	return s.underLock(ctx, func(dir *atomicfile.Dir) error { return s.append(dir, by, msgs, since) })
}

func (s *Store) append(dir *atomicfile.Dir, by string, msgs []mail.Message, since int64) error {
	a, err := s.open()
	if err != nil {
		return err
	}
	defer a.close()
	gone, err := a.since(since)
	if err != nil {
		return err
	}
	lines := s.newLines(by, msgs, gone)
	if len(lines) == 0 {
		return nil
	}
	if a.size >= maxPart {
		if err := s.rotate(dir, a); err != nil { // a long archive is better than mail that cannot be acknowledged
			s.log.Warn("archive is not rotated", "session", s.sid, "err", err)
		}
	}
	return dir.AppendLines(s.Name(), lines) // half a line of a power cut is skipped by readers
}

func (s *Store) newLines(by string, msgs []mail.Message, gone map[mail.Key]bool) []byte {
	size := 0
	for i := range msgs {
		size += len(msgs[i].Content) + mail.LineRoom
	}
	lines := make([]byte, 0, size)
	now := mail.Seconds(s.now())
	for _, msg := range msgs {
		if !msg.IsRecorded() || len(gone) > 0 && gone[msg.RecordKey()] {
			continue
		}
		msg.Extra = slices.DeleteFunc(slices.Clone(msg.Extra), func(f mail.Field) bool {
			return f.Name == "drained_at" || f.Name == "drained_by" || f.Name == "session_id"
		})
		record := Archived{msg, now, by, s.sid}
		if msg.Ephemeral {
			record.dropContent()
		}
		lines = append(record.appendLine(lines), '\n')
	}
	return lines
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
func (s *Store) History(ctx context.Context, limit int) (found []Archived, err error) {
	if limit <= 0 {
		return nil, nil
	}
	every := func([]byte) bool { return true }
	err = s.Newest(ctx, 0, every, every, func(record Archived) bool {
		if !record.ContentDropped {
			found = append(found, record)
		}
		return len(found) < limit
	})
	return found, err
}

// Behind gives the records behind a place, oldest first, and the place behind them. Of an archive that somebody has shortened
// it gives nothing: what it has now was told.
func (s *Store) Behind(place int64) (records []Archived, behind int64, err error) {
	a, err := s.open()
	if err != nil {
		return nil, 0, err
	}
	defer a.close()
	if a.end() < place {
		return nil, a.end(), nil
	}
	behind = max(place, a.base)
	var parts [][]Archived
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

func recordsIn(lines []byte) (records []Archived) {
	for line := range bytes.Lines(lines) {
		var r Archived
		if json.Unmarshal(line, &r) == nil {
			records = append(records, r)
		}
	}
	return records
}

// Newest calls f with the records behind a place, the newest first, until it returns false or ctx ends. Only a line that
// mayBe says yes to is parsed, and no block of lines is looked through that mayHold says no to.
func (s *Store) Newest(ctx context.Context, since Mark, mayHold, mayBe func(lines []byte) bool, f func(Archived) (more bool)) error {
	a, err := s.open()
	if err != nil {
		return err
	}
	defer a.close()
	err = a.blocksNewestFirst(int64(since), func(lines []byte) bool {
		more := true
		if mayHold(lines) {
			eachBackwards(lines, func(line []byte) bool {
				var record Archived
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
