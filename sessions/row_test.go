package sessions

import (
	"bytes"
	"encoding/json"
	"slices"
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
		"[\n{\"session_id\":\"a\",\"alias\":\"b\",\"pid\":3}\n]\n", "[\n{\"session_id\":\"a\",\"alias\":\"b\",\"pid\": 3}\n]\n",
		"[\n{\"session_id\":\"a\",\"alias\":\"b\",\"pid\":3 }\n]\n", "[\n{\"session_id\":\"a\",\"alias\":\"b\"} ,\n{\"session_id\":\"c\",\"alias\":\"d\"}\n]\n",
		"[\n{\"session_id\":\"a\",\"alias\":\"b\"} , {\"session_id\":\"c\",\"alias\":\"d\"}\n]\n", "[\n{\"session_id\":\"a\",\"alias\":\"b\"},{\"alias\":\"d\",\"session_id\":\"c\"}\n]\n",
		`[{"session_id":"a","alias":"b","x":"\"pid\":1","pid":2}]`, `[{"session_id":"a\u0022","alias":"b","x":{"pid":1},"pid":2}]`,
		"[\n{\"session_id\":\"a\",\"alias\":\"b\",\"pi\xf9\":3}\n]\n", `[{"session_id":"a` + "\xff\xff" + `","alias":"b","pid":3}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ParseRegistry(data)
		if again, rerr := ParseRegistry(FormatRegistry(rows)); rerr != nil || len(again) != len(rows) {
			t.Fatalf("%q is repaired as %q: %v", data, FormatRegistry(rows), rerr)
		}
		if err != nil {
			return
		}
		var before, after any
		if err := exactly(data, &before); err != nil {
			t.Fatalf("%q is taken: %v", data, err)
		}
		written := FormatRegistry(rows)
		if err := exactly(written, &after); err != nil {
			t.Fatalf("%q is written as %q: %v", data, written, err)
		}
		b, _ := json.Marshal(before)
		a, _ := json.Marshal(after)
		if !bytes.Equal(a, b) {
			t.Errorf("%q\nis written as %q", data, written)
		}
		for _, data := range [][]byte{data, written} {
			if split, ok := splitRegistry(data); ok && !slices.EqualFunc(split, rows, func(a, b Row) bool { return bytes.Equal(a, b) }) {
				t.Errorf("%q is split into %q", data, split)
			}
		}
		for i, r := range rows {
			seen := map[string]bool{}
			r.each(func(name string, value json.RawMessage) {
				if got := r.Get(name); !seen[name] && !bytes.Equal(got, value) {
					t.Errorf("%s of %s is %q, want %q", name, r, got, value)
				}
				seen[name] = true
			})
			if FindSID([]Row{r}, r.SID()) != 0 || FindSID([]Row{r}, r.SID()+"x") >= 0 {
				t.Errorf("%s is not its own session's", r)
			}
			var want struct {
				ID    string `json:"session_id"`
				Alias string
			}
			raw := before.([]any)[i].(map[string]any)
			want.ID, _ = raw["session_id"].(string)
			members := 0
			r.each(func(string, json.RawMessage) { members++ })
			if members == len(raw) && r.SID() != want.ID { // no name twice
				t.Errorf("session %q, want %q", r.SID(), want.ID)
			}
		}
	})
}

func FuzzParseRegistry(f *testing.F) {
	f.Add([]byte(`[{"session_id":"s","alias":"a","pid":1,"x":{"y":[1.0]}}]`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ParseRegistry(data)
		if err != nil {
			return
		}
		again, err := ParseRegistry(FormatRegistry(rows))
		if err != nil || len(again) != len(rows) {
			t.Errorf("%q: read back %d of %d rows: %v", data, len(again), len(rows), err)
		}
	})
}
