package archive

import (
	"context"
	"slices"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Append appends messages and syncs them. For an ephemeral one it writes no record, or one without content if its sender chose the
// id. It skips messages that the archive has behind the place since.
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
		if err := s.rotate(dir, a); err != nil { // a long archive is better than mail that cannot be acked
			s.log.Warn("archive is not rotated", "session", s.sid, "err", err)
		}
	}
	return dir.AppendLines(s.Name(), lines) // readers skip half a line that a power cut left
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
		record := Record{msg, now, by, s.sid}
		if msg.Ephemeral {
			record.dropContent()
		}
		lines = append(record.appendLine(lines), '\n')
	}
	return lines
}
