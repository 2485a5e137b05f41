package mail

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestHoldsIDFindsWhatParsingFinds(t *testing.T) {
	for line, want := range map[string]bool{
		`{"message_id":"job-1"}`:                                          true,
		`{"message_id" : "job-1"}`:                                        true,
		`{"message_id":"other","x":{"message_id":"job-1"}}`:               true, // the caller parses the line, and sees
		`{"message_id":"job-11"}`:                                         false,
		`{"message_id":7,"content":"job-1"}`:                              false,
		`{"content":"\"message_id\":\"job-1\""}`:                          false,
		`{"message_id":"`:                                                 false,
		`{"message_id"`:                                                   false,
		`{"in_reply_to":"job-1","message_id":"b"}`:                        false,
		`[{"message_id":"a"},{"message_id":"b"},{"message_id": "job-1"}]`: true,
	} {
		ids := map[string]bool{"job-1": true}
		for range 2 {
			if got := HoldsID(ids, nil)([]byte(line)); got != want {
				t.Errorf("%s, %d ids: %v", line, len(ids), got)
			}
			for n := range fewIDs {
				ids[fmt.Sprint("none-", n)] = true
			}
		}
	}
}

func FuzzHoldsID(f *testing.F) {
	for _, s := range []string{`{"from_alias":"birch","to_alias":"amber","content":"good","ts":1.5,"message_id":"good-1"}`, `{"from_alias":"a","to_alias":"b","content":"\"message_id\":\"","message_id":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Message
		if json.Unmarshal(data, &m) != nil || !ValidName(m.ID) {
			return
		}
		file, _ := m.MarshalJSON()
		if !HoldsID(map[string]bool{m.ID: true}, nil)(file) {
			t.Errorf("%q is not found in %q", m.ID, file)
		}
		if HoldsID(map[string]bool{m.ID + "x": true}, nil)(file) && len(m.Extra) == 0 {
			t.Errorf("%q is found in %q", m.ID+"x", file)
		}
	})
}
