package inbox

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzATextIsFoundWhereItBegins(f *testing.F) {
	for _, s := range [][2]string{{"a", ""}, {"a", "ba"}, {"aab", "aaaaab"}, {"abcabd", "abcabcabd"}, {"in_reply_to", `"in_reply_t","in_reply_to"`},
		{strings.Repeat("ab", 200), strings.Repeat("ba", 300)}} {
		f.Add(s[0], []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		if text == "" {
			return
		}
		if got, want := newFinder(text).index(data), bytes.Index(data, []byte(text)); got != want {
			t.Errorf("%q in %q is at %d, want %d", text, data, got, want)
		}
	})
}
