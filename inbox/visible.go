package inbox

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes each character of a foreign text that steers a terminal, or
// turns the order in which a line is read, as \u and its number. In JSON that
// is still the same character. Characters in keep stay as they are.
func Visible(text, keep string) string {
	hidden := func(r rune) bool {
		turns := '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
		return (turns || unicode.IsControl(r)) && !strings.ContainsRune(keep, r)
	}
	if utf8.ValidString(text) && strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1: // terminals may take the byte 0x9B for ESC [
			fmt.Fprintf(&b, `\u%04x`, text[0])
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// Screen passes text on to W, all of it Visible but for its lines and tabs.
// Each Write must hold whole characters. Err is the first that W gave.
type Screen struct {
	W   io.Writer
	Err error
}

func (s *Screen) Write(p []byte) (int, error) {
	if s.Err == nil {
		_, s.Err = io.WriteString(s.W, Visible(string(p), "\n\t"))
	}
	if s.Err != nil {
		return 0, s.Err
	}
	return len(p), nil
}
