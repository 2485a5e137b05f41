package sessions

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/wake"
)

// fullFacts has a value in each field.
func fullFacts(t *testing.T) Facts {
	t.Helper()
	at := time.Date(2026, 11, 23, 8, 0, 0, 5, time.UTC)
	f := Facts{"amber", 1.5, []former{{"old", 2.5}}, "claude", []string{"a", "b\"\n"}, 7, 1 << 60, "1 2 3", true, true, true, 8, 9, "%1",
		wake.Ring{At: at, Method: "pane", Tries: 3}, "r", true, true, "busy", at, "hook", "server_error", at, "stdio", at, "talk", 9, []string{}, "d", 3.5, []string{"x"}, "w", true, "y", "no tools", false, nil}
	for v, i := reflect.ValueOf(f), 0; i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; name != "stored" && name != "others" && v.Field(i).IsZero() {
			t.Errorf("%s has no value here", name)
		}
	}
	return f
}

func TestFactsAreReadAsTheyAreWritten(t *testing.T) {
	want := fullFacts(t)
	for _, layout := range []func(any) ([]byte, error){json.Marshal, func(v any) ([]byte, error) { return json.MarshalIndent(v, "\t", "  ") }} {
		data, err := layout(want)
		if err != nil {
			t.Fatal(err)
		}
		var got, std Facts
		if err := json.Unmarshal(data, &std); err != nil {
			t.Fatal(err)
		}
		if err := got.parse(data); err != nil || !reflect.DeepEqual(got, std) {
			t.Errorf("%v: got %+v, want %+v", err, got, std)
		}
	}
}

// A server of an older c2c writes what it does not know as it was.
func TestFactsOfANewerVersionStay(t *testing.T) {
	root, err := atomicfile.Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	st := &FactStore{root: root, now: time.Now, log: inbox.NoLog}
	dir, err := st.Dir()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for name, tc := range map[string][2]string{
		"beside others": {`{"mood":{"is":["good",1]},"alias":"amber","next":null}`, "{\n  \"alias\": \"amber\",\n  \"pane\": \"%1\",\n  \"mood\": {\n    \"is\": [\n      \"good\",\n      1\n    ]\n  },\n  \"next\": null\n}\n"},
		"alone":         {`{"mood":1}`, "{\n  \"pane\": \"%1\",\n  \"mood\": 1\n}\n"},
	} {
		if err := dir.Write("amber.json", []byte(tc[0])); err != nil {
			t.Fatal(err)
		}
		if err := st.Change(t.Context(), "amber", func(f *Facts) { f.Pane = "%1" }); err != nil {
			t.Fatal(err)
		}
		if data, err := dir.Read("amber.json"); err != nil || string(data) != tc[1] {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if err := st.Change(t.Context(), "amber", func(f *Facts) { f.Pane = "" }); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := dir.Read("amber.json"); err != nil || !strings.Contains(string(data), `"mood"`) {
		t.Errorf("without another field: %q, %v", data, err)
	}
}

func TestEachFactHasItsField(t *testing.T) {
	var f Facts
	for v, i := reflect.ValueOf(&f).Elem(), 0; i < v.NumField(); i++ {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name != "" && f.member(name) != v.Field(i).Addr().Interface() {
			t.Errorf("%q leads elsewhere", name)
		}
	}
}

func FuzzFacts(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `[]`, `{"pid":null}`, `{"pid":1.0}`, `{"named":"true"}`, `{"named":1}`, `{"client_ids":["a",null,"\ud800"]}`,
		`{"client_ids":[1]}`, `{"client_ids":{}}`, `{"alias":"\u00e4","alias_since":1e3}`, `{"turn_at":"2026-11-23T08:00:00Z"}`, `{"turn_at":5}`,
		`{"last_ring":{"tries":3}}`, `{"alias":"a"`, `{"alias":"a"} x`, "{\"alias\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want Facts
		err, wantErr := got.parse(data), json.Unmarshal(data, &want)
		if isObject := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")); err != nil && wantErr == nil && isObject {
			t.Errorf("%q: %v", data, err)
		}
		got.others = nil
		// encoding/json takes a name in any case.
		exact := !bytes.ContainsFunc(data, func(r rune) bool { return r >= 'A' && r <= 'Z' || r > '~' }) && !bytes.Contains(data, []byte(`\u`))
		if exact && err == nil && (wantErr != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%q: got %+v, want %+v, %v", data, got, want, wantErr)
		}
	})
}
