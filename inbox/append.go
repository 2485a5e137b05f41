package inbox

import (
	"context"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Append appends records of the messages, and syncs them. The argument by is the name of the reader
// that has handed the messages over. An ephemeral message gets no record, or a record without
// content if its sender chose the id. Append skips a message if the archive has a record of it
// after this place.
func (s *Archive) Append(ctx context.Context, by string, msgs []mail.Message, place int64) error {
	if !slices.ContainsFunc(msgs, mail.Message.IsRecorded) {
		return nil
	}
	return s.underLock(ctx, func(dir *atomicfile.Dir) error {
		_, err := s.append(dir, by, msgs, place)
		return err
	})
}

// AppendLeased is Append for messages of a lease. A message is in one lease only. So AppendLeased
// need not search the records that its own earlier calls have appended for other leases.
func (s *Archive) AppendLeased(ctx context.Context, by string, msgs []mail.Message, place int64) error {
	if !slices.ContainsFunc(msgs, mail.Message.IsRecorded) {
		return nil
	}
	return s.underLock(ctx, func(dir *atomicfile.Dir) error {
		own := s.own.Load()
		if own != nil && own.from <= place && place < own.to {
			place = own.to
		}
		added, err := s.append(dir, by, msgs, place)
		switch {
		case err != nil:
			s.own.Store(nil)
		case own != nil && own.to == added.from:
			s.own.Store(&span{own.from, added.to})
		default:
			s.own.Store(&added)
		}
		return err
	})
}

// span is the part of the archive between two places.
type span struct{ from, to int64 }

func (s *Archive) append(dir *atomicfile.Dir, by string, msgs []mail.Message, place int64) (added span, err error) {
	a, err := s.open()
	if err != nil {
		return added, err
	}
	defer a.close()
	gone, err := a.since(place)
	if err != nil {
		return added, err
	}
	lines := s.newLines(by, msgs, gone)
	added = span{a.end(), a.end() + int64(len(lines))}
	if len(lines) == 0 {
		return added, nil
	}
	s.endCalm()
	if a.size >= maxPart {
		if err := s.rotate(dir, a); err != nil { // better a long archive than mail that cannot be acked
			s.log.Warn("archive is not rotated", "session", s.sid, "err", err)
		}
	}
	return added, dir.AppendLines(s.Name(), lines) // readers skip half a line that a power cut left
}

func (s *Archive) newLines(by string, msgs []mail.Message, gone map[mail.Key]bool) []byte {
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
		record := ArchiveRecord{msg, now, by, s.sid}
		if msg.Ephemeral {
			record.dropContent()
		}
		lines = append(record.appendLine(lines), '\n')
	}
	return lines
}
