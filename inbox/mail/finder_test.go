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

// want compares with a search that knows no tricks, also in data that is long enough for each of the ways, with the text at
// its beginning, over the edges, and at its end.
func want(t *testing.T, text string, data []byte) {
	t.Helper()
	low := strings.ToLower(text)
	ascii := !strings.ContainsFunc(low, func(r rune) bool { return r > unicode.MaxASCII })
	for _, before := range []int{0, 1, near - len(text), near - 1, near, 5000} {
		for _, behind := range []int{0, 1, near, 3000} {
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

// Whichever way the sample chose, the data may go on quite differently.
func TestDataThatChangesIsSearchedToItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, first, then string }{
		{"xylophone", "words ", "x"}, {"xylophone", "x", "words "}, {"x", "words ", "y"}, {"in_reply_to", "word", "in_reply_t"},
	} {
		data := append(fill([]byte(c.first), 20_000), fill([]byte(c.then), 20_000)...)
		for _, text := range []string{c.text, strings.ToUpper(c.text)} {
			long := append(bytes.Clone(data), text+c.then...)
			if got, want := AnyCaseFinder(c.text).Index(long), bytes.Index(bytes.ToLower(long), []byte(c.text)); got != want {
				t.Errorf("%q behind %q and %q is at %d, want %d", text, c.first, c.then, got, want)
			}
		}
		if got, want := NewFinder(c.text).Index(data), bytes.Index(data, []byte(c.text)); got != want {
			t.Errorf("%q in %q and %q is at %d, want %d", c.text, c.first, c.then, got, want)
		}
	}
}
