package inbox

import (
	"encoding/json"
	"slices"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/fields"
)

// ArchiveRecord is a message in the archive: it was handed over.
type ArchiveRecord struct {
	mail.Message
	DrainedAt float64 // Unix seconds
	DrainedBy string
	SessionID string
}

// MarshalJSON writes one line of the archive. The fields that the OCaml c2c adds to a message come
// first.
func (a ArchiveRecord) MarshalJSON() ([]byte, error) {
	return a.appendLine(nil), nil
}

func (a *ArchiveRecord) appendLine(b []byte) []byte {
	b = fields.AppendSeconds(append(b, `{"drained_at":`...), a.DrainedAt)
	b = fields.AppendText(append(b, `,"drained_by":`...), a.DrainedBy)
	b = fields.AppendText(append(b, `,"session_id":`...), a.SessionID)
	return append(a.AppendFields(b, ","), '}')
}

// dropContent drops the content of an ephemeral message. If the sender repeats the message, the
// rest of the record still shows that the message was read. The OCaml c2c skips a record without
// content.
func (a *ArchiveRecord) dropContent() { a.Content, a.Extra, a.ContentDropped = "", nil, true }

// UnmarshalJSON reads one line of the archive.
func (a *ArchiveRecord) UnmarshalJSON(data []byte) error {
	var out ArchiveRecord
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

// eachRecord calls f for the records in lines, last one first, until f returns false. It does not
// parse lines for which the function mayBe returns false; nil: it parses all.
func eachRecord(lines []byte, mayBe func(line []byte) bool, f func(ArchiveRecord) (more bool)) (more bool) {
	more = true
	atomicfile.EachBackwards(lines, func(line []byte) bool {
		var r ArchiveRecord
		if (mayBe == nil || mayBe(line)) && json.Unmarshal(line, &r) == nil {
			more = f(r)
		}
		return more
	})
	return more
}
