package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

const good = `{"from_alias":"birch","to_alias":"amber","content":"good","ts":1.5,"message_id":"good-1"}`

func hasGood(msgs []mail.Message) bool {
	for _, m := range msgs {
		if m.ID == "good-1" && m.Content == "good" {
			return true
		}
	}
	return false
}

// Whatever stands before or behind a message, a message on lines of its own is
// found: not even an open string of the junk goes over the end of a line.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "[", "[\n", "]", `[{"from_alias":"a"},`, "[" + good + ",", "\x00", `[{"content":{"`,
		strings.Repeat("[", 5000), `{"a":"`, `{"from_alias":"a","to_alias":"b","content":"c","x":[`, `[{"a":"\`, "[[", "1"} {
		f.Add([]byte(s), []byte(""))
		f.Add([]byte("["), []byte(s))
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, before, behind []byte) {
		msgs, _ := decode(before)
		again, damaged := decode(mail.Array(msgs))
		if damaged || len(again) != len(msgs) {
			t.Fatalf("wrote %d messages and read %d back", len(msgs), len(again))
		}
		// What closes behind the message what was opened before it makes it a part of something
		// else.
		behind = bytes.Map(func(r rune) rune {
			if r == ']' || r == '}' {
				return -1
			}
			return r
		}, behind)
		for _, end := range [][]byte{[]byte("]\n"), behind} {
			file := slices.Concat(before, []byte("\n,"+good+"\n"), end)
			if msgs, _ := decode(file); !hasGood(msgs) {
				t.Errorf("lost the good message in %q", file)
			}
		}
	})
}

// A file in our own layout is read line by line, and means what it means as a JSON array.
func FuzzLinesAreTheArray(f *testing.F) {
	for _, s := range []string{good, good + ",\n" + good, `{"from_alias":"a","to_alias":"b","content":"c","x":[{"y":"},\n{"}]}`, `{"a":1},{"b":2}`, `{"content":"\xff\u0000"}`, "{\"a\": \n1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		file := slices.Concat([]byte("[\n"), lines, []byte("\n]\n"))
		msgs, ok := decodeLines(file)
		if !ok {
			return
		}
		same, damaged := decodeArray(file)
		if damaged || !reflect.DeepEqual(msgs, same) {
			t.Errorf("%q is %+v, and as an array %+v, damaged %t", file, msgs, same, damaged)
		}
	})
}

// A message can be added to whatever is valid, and to what was mended.
func FuzzSplice(f *testing.F) {
	for _, s := range []string{"", "[]", "[]\n", " [ ] ", "[\n" + good + "\n]\n", "[" + good + "]", "[1]", `[{"x":["]"]}]`, "[\n]\n\n",
		"[\n{\"a}\n]\n", "[\n" + good + "\n" + good + "\n]\n", "[\n" + good + ",\n" + good + "\n]\n"} {
		f.Add([]byte(s))
	}
	m := mail.Message{From: "birch", To: "amber", Content: "good", TS: 1.5, ID: "good-1"}
	f.Fuzz(func(t *testing.T, file []byte) {
		had, ok := count(file)
		if !ok {
			msgs, _ := decode(file)
			file, had = mail.Array(msgs), len(msgs)
		}
		next := splice(file, []mail.Message{m})
		if n, ok := count(next); !ok || n != had+1 {
			t.Fatalf("%q with %d becomes %q with %d", file, had, next, n)
		}
		if msgs, _ := decode(next); msgs[len(msgs)-1].ID != m.ID {
			t.Errorf("%q becomes %q", file, next)
		}
	})
}

// Whatever a hostile process queues, what is stored of it can be read again.
func FuzzQueued(f *testing.F) {
	whole := string(mail.Array([]mail.Message{{From: "birch", To: "amber", Content: "x", TS: 1.5, ID: "x-1"}}))
	for _, s := range []string{"", whole, whole[:20], "null", "[null]", "[]", "[{}]", "+" + whole[1:], "[" + good + "," + good + "]", "[" + good + "]x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msgs := readQueued(bytes.NewReader(data))
		again, damaged := decode(mail.Array(msgs))
		if damaged || len(again) != len(msgs) {
			t.Fatalf("%q: stored %d messages and read %d back", data, len(msgs), len(again))
		}
	})
}

func FuzzMailFileName(f *testing.F) {
	for _, s := range []string{"00000001-2-3.json", "00000001-2-3-4-5-hook.json", "done-00000001-2-3-4-5-hook.json", "x", "--.json", "-----.json", "00000001-2-3-4-5-../x.json", "1-2-3.json",
		"part-0.1.3.9-00000001-2-3-4-5-hook.json", "part-1.0-00000001-2-3-4-5-hook.json", "done-part-0.1-00000001-2-3-4-5-hook.json", "part--00000001-2-3-4-5-hook.json"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, ok := parseMailFile(name)
		if ok && (c.name() != name || strings.ContainsAny(name, "/\x00")) {
			t.Errorf("%q is read as %q", name, c.name())
		}
	})
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{good, `{"from_alias":"a","to_alias":"b","content":"c","future":{"x":[1,2]},"ts":1}`, `{}`, `{"content":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m, again mail.Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		first, err := m.MarshalJSON()
		if err != nil || !json.Valid(first) {
			t.Fatalf("%q is written as %q, %v", data, first, err)
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatal(err)
		}
		if second, _ := again.MarshalJSON(); !bytes.Equal(first, second) {
			t.Errorf("%q\nbecomes %q", first, second)
		}
		wantUnknownKept(t, data, first)
	})
}

// wantUnknownKept compares the fields that c2c does not know.
func wantUnknownKept(t *testing.T, before, after []byte) {
	t.Helper()
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal(before, &was), json.Unmarshal(after, &is)); err != nil {
		t.Fatal(err)
	}
	for _, known := range []string{"from_alias", "to_alias", "content", "ts", "message_id", "kind", "in_reply_to", "tag", "deferrable", "ephemeral"} {
		delete(was, known)
		delete(is, known)
	}
	if !reflect.DeepEqual(was, is) {
		t.Errorf("%q\nkeeps only %q", before, after)
	}
}

// A line of the archive is the message and three fields more.
func FuzzArchived(f *testing.F) {
	for _, s := range []string{good, `{"drained_at":5,"drained_by":"x","session_id":"y","from_alias":"a","to_alias":"b","content":"c","z":1}`,
		`{"drained_at":"5","drained_by":null,"session_id":[],"from_alias":"a","to_alias":"b","content":"c"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, again ArchiveRecord
		if json.Unmarshal(data, &a) != nil {
			return
		}
		first, err := a.MarshalJSON()
		if err != nil || !json.Valid(first) || bytes.ContainsRune(first, '\n') {
			t.Fatalf("%q is written as %q, %v", data, first, err)
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatal(err)
		}
		if second, _ := again.MarshalJSON(); !bytes.Equal(first, second) {
			t.Errorf("%q\nbecomes %q", first, second)
		}
	})
}

func TestAHostileFileCostsLittleAndHidesNoLine(t *testing.T) {
	file := strings.Repeat(`{"a":`, 600_000) + "\n," + good + "\n]\n"
	if msgs, damaged := decode([]byte(file)); !damaged || !hasGood(msgs) {
		t.Errorf("found %d messages, damaged %v", len(msgs), damaged)
	}
}

func TestWhatIsPlantedInALeaseFolderStopsNobody(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, letter("one"))
	for _, name := range []string{"x.tmp.dir", "99999999999999999-1-0-1-1-by.json.dir", "9223372036854775807-1-0-1-1-by.json"} {
		if err := os.Mkdir(filepath.Join(root, "amber.lease", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := drain(t.Context(), m, "test"); err != nil || bodies(got) != "one" {
		t.Errorf("drained %q, %v", bodies(got), err)
	}
}

func FuzzValidName(f *testing.F) {
	for _, s := range []string{"a", "..", "a/b", ".a", "a\x00", "-", strings.Repeat("x", 129), "ａ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if mail.ValidName(s) && (strings.ContainsAny(s, "/\x00") || filepath.Base(s) != s || strings.HasPrefix(s, ".") || len(s) > 128) {
			t.Errorf("%q is taken for a name", s)
		}
	})
}
