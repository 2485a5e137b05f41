package inbox

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

const good = `{"from_alias":"birch","to_alias":"amber","content":"good","ts":1.5,"message_id":"good-1"}`

func hasGood(msgs []Message) bool {
	for _, m := range msgs {
		if m.ID == "good-1" && m.Content == "good" {
			return true
		}
	}
	return false
}

// Whatever stands in front of a message on lines of its own, the message is found.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "[", "[\n", "]", `[{"from_alias":"a"},`, "[" + good + ",", "\x00", `[{"content":{"`, strings.Repeat("[", 5000), `{"a":"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, junk []byte) {
		msgs, _ := decode(junk)
		again, damaged := decode(encode(msgs))
		if damaged || len(again) != len(msgs) {
			t.Fatalf("wrote %d messages and read %d back", len(msgs), len(again))
		}
		// An open string in the junk may swallow the line that follows, and no more.
		file := append(bytes.ReplaceAll(junk, []byte(`"`), []byte(`'`)), "\n,"+good+"\n]\n"...)
		if msgs, _ := decode(file); !hasGood(msgs) {
			t.Errorf("lost the good message in %q", file)
		}
	})
}

func FuzzSpill(f *testing.F) {
	line := string(spillLine(nil, Message{From: "birch", To: "amber", Content: "good", TS: 1.5, ID: "good-1"}, 1))
	for _, s := range []string{"", line, line[:20], "\n\n", `{"message":null}`, "{}\n", line + line[:30]} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, junk []byte) {
		decodeSpill(junk)
		spillCount(junk)
		if msgs, _ := decodeSpill([]byte(string(junk) + "\n" + line)); !hasGood(msgs) {
			t.Errorf("lost the good message behind %q", junk)
		}
		if n, err := spillCount([]byte(string(junk) + "\n" + line)); n != 1 || err != nil {
			t.Errorf("count %d, %v behind %q", n, err, junk)
		}
	})
}

func FuzzChunkName(f *testing.F) {
	for _, s := range []string{"00000001-2-3-4-5-hook.json", "done-00000001-2-3-4-5-hook.jsonl", "x", "-----.json", "00000001-2-3-4-5-../x.json"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, ok := parseChunk(name)
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
		var m, again Message
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
	})
}
