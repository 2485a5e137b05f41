package fields

import (
	"bytes"
	"encoding/json"
	"testing"
)

type member struct{ name, value string }

// decoded is Each by encoding/json's own means.
func decoded(data []byte) (all []member) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		dec.Decode(&value)
		all = append(all, member{name.(string), string(value)})
	}
	return all
}

func FuzzEachFindsWhatTheDecoderFinds(f *testing.F) {
	for _, s := range []string{`{}`, ` { } `, `{"a":1}`, "{ \"a\" :\t{\"b\":[1,\"}\"]} ,\r\n\"c\":\"\\\\\", \"\\u0064\" : \"\\\"\" ,\"\":-1.5e3,\"t\":true}",
		`{"a":[],"b":{},"c":[[{}]]}`, `[]`, `null`, `"x"`, "{\"\xff\":\"\xff\"}", `{"a":"x\\","a":"\\\\\""}`} {
		f.Add([]byte(s))
	}
	for _, s := range []string{``, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"\`, `{"a":[`, `{]`, `{,}`, `{:1}`, `{"a":}`, `{"a":,}`, `{"a" 1}`, "\ufeff{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			wantNoStop(t, data)
			return
		}
		var got []member
		err := Each(data, func(name string, value json.RawMessage) error {
			got = append(got, member{name, string(value)})
			return nil
		})
		want := decoded(data)
		if object := bytes.TrimLeft(data, " \t\r\n")[0] == '{'; (err == nil) != object || len(got) != len(want) {
			t.Fatalf("%q: %q, %v, want %q", data, got, err, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: member %d is %q, want %q", data, i, got[i], want[i])
			}
			var s string
			text, err := Text(json.RawMessage(want[i].value))
			jerr := json.Unmarshal([]byte(want[i].value), &s)
			if want[i].value != "null" && (text != s || (err == nil) != (jerr == nil)) {
				t.Errorf("text %q, %v, want %q, %v", text, err, s, jerr)
			}
			if again, err := Text(AppendText(nil, s)); again != s || err != nil {
				t.Errorf("%q is written as %s", s, AppendText(nil, s))
			}
		}
	})
}

// wantNoStop has Each read what is not JSON: a caller may have a line of a file that another program has cut off.
func wantNoStop(t *testing.T, data []byte) {
	t.Helper()
	size := 0
	err := Each(data, func(name string, value json.RawMessage) error {
		size += len(value)
		Text(value)
		return nil
	})
	if size > len(data) {
		t.Errorf("%q has members of %d bytes", data, size)
	}
	if err == nil && !bytes.HasSuffix(bytes.TrimRight(data, " \t\r\n"), []byte("}")) {
		t.Errorf("%q is taken for an object", data)
	}
}

func TestAnObjectThatIsCutOffIsAnError(t *testing.T) {
	whole := `{"a":"x\\\"y","b":[1,{"c":null}],"d":-1.5e3 , "e" : true}`
	for n := range len(whole) {
		if err := Each([]byte(whole[:n]), func(string, json.RawMessage) error { return nil }); err == nil {
			t.Errorf("%q is taken for an object", whole[:n])
		}
	}
}
