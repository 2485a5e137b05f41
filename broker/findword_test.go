package broker

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

func TestEveryLetterThatIsAnASCIILetterInLowerCaseIsKnown(t *testing.T) {
	for r := rune(unicode.MaxASCII + 1); r <= unicode.MaxRune; r++ {
		if low := unicode.ToLower(r); low <= unicode.MaxASCII {
			text := "a" + string(r) + "b"
			if word := "a" + string(low) + "b"; !newWordFinder(word).in([]byte(text)) {
				t.Errorf("%U is not found as %q", r, low)
			}
		}
	}
}

func FuzzAWordIsFoundInAnyCase(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"a", ""}, {"", "a"}, {"green", "The GReen light"}, {"aab", "aaaaAab"}, {"kiwi", "\u212aIw\u0130"},
		{"x-1", "X-1"}, {"abcabd", "abcabcabd"}, {strings.Repeat("ab", 200), strings.Repeat("BA", 300)}} {
		f.Add(s[0], []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, word string, data []byte) {
		word = strings.ToLower(word)
		if strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) {
			return
		}
		want := bytes.Contains(bytes.ToLower(data), []byte(word))
		if got := newWordFinder(word).in(data); got != want {
			t.Errorf("%q in %q: %t, want %t", word, data, got, want)
		}
	})
}
