package mail

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzIndentedIsWhatTheEncoderWrites(f *testing.F) {
	for _, content := range []string{"", "plain", `"quoted", {"a":1} \`, "two\nlines\u2028<&>", "\xff half", "ü, ☃ : x\x00"} {
		f.Add(content, "m-1", 1795422668.361096, 0.0, `null`)
		f.Add(content, "", 1.0, 7.5, `{"a":[1,{},[],"x, y"],"b":{"c":null}}`)
		f.Add(content, "m,\"2", 0.0, 1e300, `[]`)
	}
	f.Fuzz(func(t *testing.T, content, id string, ts, due float64, extra string) {
		if ts-ts != 0 || due-due != 0 { // no JSON has these
			return
		}
		msgs := []Message{{From: "birch", To: "amber", Content: content, ID: id, TS: ts, Due: due, Kind: "question", ExpiresAt: due, Deferrable: due > 1}}
		msgs = append(msgs, Message{From: content, To: id, Ephemeral: true}, msgs[0])
		var flat bytes.Buffer
		if json.Compact(&flat, []byte(extra)) == nil {
			msgs[0].Extra = []Field{{"more", flat.Bytes()}, {content, json.RawMessage("1")}}
		}
		for n := range len(msgs) + 1 {
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(append([]Message{}, msgs[:n]...)); err != nil {
				t.Fatal(err)
			}
			if got := Indented(msgs[:n]); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s\nwant %s", got, want.Bytes())
			}
		}
	})
}
