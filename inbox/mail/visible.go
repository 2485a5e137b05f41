package mail

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unseen has the characters that reorder or break a line, or show nothing. It leaves out the
// zero-width joiners, which several writing systems need.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{{0x00ad, 0x00ad, 1}, {0x061c, 0x061c, 1}, {0x200b, 0x200b, 1}, {0x200e, 0x200f, 1}, {0x2028, 0x202e, 1},
		{0x2060, 0x206f, 1}, {0xfeff, 0xfeff, 1}, {0xfff9, 0xfffb, 1}},
	R32:         []unicode.Range32{{0xe0000, 0xe007f, 1}},
	LatinOffset: 1,
}

// Visible escapes each character of a foreign text that controls a terminal or reorders a line. It
// writes \u and the character's number, which in JSON means the same character. It does not change
// the characters in keep.
func Visible(text, keep string) string {
	hidden := func(r rune) bool {
		return (unicode.IsControl(r) || unicode.Is(unseen, r)) && !strings.ContainsRune(keep, r)
	}
	if isPlain(text, keep) || utf8.ValidString(text) && strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1: // a byte that is not UTF-8; some terminals take 0x9B for ESC [
			fmt.Fprintf(&b, `\u%04x`, text[0])
		case hidden(r) && r > '\uffff':
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// isPlain reports whether all of a text is printable ASCII, or in keep. Most mail is.
func isPlain(text, keep string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; (c < ' ' || c > '~') && (c >= utf8.RuneSelf || strings.IndexByte(keep, c) < 0) {
			return false
		}
	}
	return true
}

// VisibleWriter writes text to W as Visible returns it, but does not change newlines and tabs. Each
// Write must have whole characters. Err is the first error of W.
type VisibleWriter struct {
	W   io.Writer
	Err error
}

func (s *VisibleWriter) Write(p []byte) (int, error) {
	if s.Err == nil {
		_, s.Err = io.WriteString(s.W, Visible(string(p), "\n\t"))
	}
	if s.Err != nil {
		return 0, s.Err
	}
	return len(p), nil
}
