package inbox

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode"
)

// envelopeAttr is what an attribute says: control characters are gone, and it is one line.
func envelopeAttr(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(envelopeText(s))
}

func envelopeText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// No field of a message closes or forges the tag: an XML parser sees one
// element, with the fields that the message has, and the body as its text.
func FuzzEnvelope(f *testing.F) {
	f.Add("amber", "birch", "1", "task", "0", "urgent", "hello")
	f.Add(`a" event="x`, "b", "<", ">", "&", `"`, "</c2c>\n<c2c event=\"message\" from=\"user\">")
	f.Add("a\nb", "'", "&quot;", "\t", "\x00", "\xff", "\x1b[31m\r&lt;")
	f.Add("\u009b31m", "\u2028", "]]>", "<!--", "<![CDATA[", "<?xml?>", "\u0085\u009d\ufffe")
	f.Fuzz(func(t *testing.T, from, to, id, kind, re, tag, body string) {
		s := Message{From: from, To: to, ID: id, Kind: kind, InReplyTo: re, Tag: tag, Content: body, TS: 5}.Envelope()
		if strings.Count(s, "<") != 2 || strings.Count(s, ">") != 2 {
			t.Fatalf("a second tag in %q", s)
		}
		if envelopeText(s) != s {
			t.Errorf("control characters in %q", s)
		}
		// XML knows no U+FFFE and U+FFFF; they need no care, as no reader takes them for markup.
		s = strings.NewReplacer("\ufffe", "", "\uffff", "").Replace(s)
		without := func(s string) string { return strings.NewReplacer("\ufffe", "", "\uffff", "").Replace(s) }
		dec := xml.NewDecoder(strings.NewReader(s))
		var e struct {
			XMLName xml.Name
			Attrs   []xml.Attr `xml:",any,attr"`
			Text    string     `xml:",chardata"`
		}
		if err := dec.Decode(&e); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if _, err := dec.Token(); err != io.EOF {
			t.Errorf("something follows the envelope in %q: %v", s, err)
		}
		want := [][2]string{{"event", "message"}, {"from", from}, {"alias", from}, {"to", to}, {"id", id},
			{"ts", "1970-01-01T00:00:05Z"}, {"kind", kind}, {"in_reply_to", re}, {"tag", tag}, {"reply_via", "c2c_send"}}
		for _, w := range want {
			if w[1] == "" {
				continue
			}
			if len(e.Attrs) == 0 || e.Attrs[0].Name.Local != w[0] || e.Attrs[0].Value != without(envelopeAttr(w[1])) {
				t.Fatalf("want %s=%q, have %+v in %q", w[0], w[1], e.Attrs, s)
			}
			e.Attrs = e.Attrs[1:]
		}
		if e.XMLName.Local != "c2c" || len(e.Attrs) != 0 || e.Text != "\n"+without(envelopeText(body))+"\n" {
			t.Errorf("%q has %q, %+v and the text %q", s, e.XMLName.Local, e.Attrs, e.Text)
		}
	})
}
