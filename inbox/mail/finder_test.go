package mail

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
			if word := "a" + string(low) + "b"; !AnyCaseFinder(word).In([]byte(text)) {
				t.Errorf("%U is not found as %q", r, low)
			}
		}
	}
}

var cases = [][2]string{
	{"", ""}, {"a", ""}, {"", "a"}, {"a", "ba"}, {"aab", "aaaaab"}, {"abcabd", "abcabcabd"}, {"in_reply_to", `"in_reply_t","in_reply_to"`},
	{"green", "The GReen light"}, {"aab", "aaaaAab"}, {"kiwi", "\u212aIw\u0130"}, {"x-1", "X-1"},
	{strings.Repeat("ab", 200), strings.Repeat("BA", 300)}, {strings.Repeat("ab", 200), strings.Repeat("ba", 300)},
	{strings.Repeat("ab", 600), strings.Repeat("ab", 900)},
}

// want compares with a search that knows no tricks, with the text at the beginning of the data,
// inside, and at its end.
func want(t *testing.T, text string, data []byte) {
	t.Helper()
	low := strings.ToLower(text)
	ascii := !strings.ContainsFunc(low, func(r rune) bool { return r > unicode.MaxASCII })
	for _, before := range []int{0, 1, 5000} {
		for _, behind := range []int{0, 1, 3000} {
			for _, filling := range [][]byte{[]byte("z"), []byte(text), data, []byte(text + "\xff"), []byte("Q" + text[:len(text)/2])} {
				long := append(append(fill(filling, before), data...), fill(filling, behind)...)
				if got, want := NewFinder(text).Index(long), bytes.Index(long, []byte(text)); got != want {
					t.Fatalf("%q in %q is at %d, want %d", text, long, got, want)
				}
				if got, want := AnyCaseFinder(low).In(long), bytes.Contains(bytes.ToLower(long), []byte(low)); ascii && got != want {
					t.Fatalf("%q in %q: %t, want %t", low, long, got, want)
				}
			}
		}
	}
}

func fill(with []byte, n int) []byte {
	return bytes.Repeat(with, max(0, n)/max(1, len(with))+1)[:min(max(0, n), len(with)*(max(0, n)/max(1, len(with))+1))]
}

func FuzzATextIsFoundAsByASearchWithoutTricks(f *testing.F) {
	for _, s := range cases {
		f.Add(s[0], []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		if len(data) > 1<<14 || len(text) > 1<<12 {
			return
		}
		want(t, text, data)
	})
}
