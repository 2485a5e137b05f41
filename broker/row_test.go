package broker

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The registry that is written back says what the one that was read said.
// exactly decodes numbers as they are written.
func exactly(data []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(to)
}

func FuzzRegistry(f *testing.F) {
	for _, s := range []string{
		`[]`, `[{"session_id":"a","alias":"b"}]`, ` [ { "session_id" : "a" , "alias" : "b\"\\" , "x" : [ { "y" : "}" } , 1 ] , "z" : -1.5e3 , "t":true,"n":null } ] `,
		`[{"session_id":"a","alias":"b","":{}},{"session_id":"\u0061\u0000","alias":"é"}]`, `[{}]`, `{}`, `null`, `[1]`, `[{"session_id":"a"`,
		`[{"session_id":"a","z":-1.5e344444444}]`, // a number that is none of Go's
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parseRegistry(data)
		if err != nil {
			return
		}
		var before, after any
		if err := exactly(data, &before); err != nil {
			t.Fatalf("%q is taken: %v", data, err)
		}
		written := formatRegistry(rows)
		if err := exactly(written, &after); err != nil {
			t.Fatalf("%q is written as %q: %v", data, written, err)
		}
		b, _ := json.Marshal(before)
		a, _ := json.Marshal(after)
		if !bytes.Equal(a, b) {
			t.Errorf("%q\nis written as %q", data, written)
		}
		for i, r := range rows {
			var want struct {
				ID    string `json:"session_id"`
				Alias string
			}
			raw := before.([]any)[i].(map[string]any)
			want.ID, _ = raw["session_id"].(string)
			if len(r) == len(raw) && r.sid() != want.ID { // no name twice
				t.Errorf("session %q, want %q", r.sid(), want.ID)
			}
		}
	})
}
