package owed

import (
	"bytes"
	"testing"
)

// A line is what was written, whatever somebody has put there; and it is one line.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"from_alias":"amber","to_alias":"birch","content":"x","ts":1.5,"message_id":"m","kind":"task","tag":"urgent","due":7.25,"action_required":true,"reply_required":true,"bucket":"urgent","obligation":{"surface":"full","wakes":{"count":2,"last":"2026-11-22T10:00:00Z","result":"rang"},"reminders":1}}`))
	f.Add([]byte(`{"from_alias":"amber","to_alias":"birch","content":"","message_id":"m","answer_by":9.5}`))
	f.Add([]byte(`{"from_alias":"a","to_alias":"b","content":"","kind":"task","due":1e300,"obligation":7}`))
	f.Add([]byte(`{"from_alias":"amb`))
	f.Fuzz(func(t *testing.T, line []byte) {
		d, ok := parseRecord(line)
		if !ok {
			return
		}
		once, err := d.Format()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		again, ok := parseRecord(once)
		if !ok || bytes.Count(once, []byte("\n")) != 1 || again.Key() != d.Key() || again.Owes() != d.Owes() || again.Wakes != d.Wakes && d.Owes() {
			t.Fatalf("%q becomes %q", line, once)
		}
		if twice, err := again.Format(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q becomes %q, %v", once, twice, err)
		}
	})
}
