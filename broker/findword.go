package broker

import (
	"bytes"
	"strings"
)

// A wordFinder looks for a word in any case, by the skips of Boyer, Moore and Horspool: it reads a few bytes of each length
// of the word and copies nothing, since a search goes through the whole archive.
type wordFinder struct {
	word string     // in lower case, of letters, digits and marks of ASCII
	skip [256]uint8 // by the byte under the word's last one: how far the word may be moved
}

func newWordFinder(word string) *wordFinder {
	f := &wordFinder{word: word}
	last := len(word) - 1
	for i := range f.skip {
		f.skip[i] = uint8(min(len(word), 255))
	}
	for i := range max(last, 0) {
		skip := uint8(min(last-i, 255))
		f.skip[word[i]], f.skip[upper(word[i])] = skip, skip
	}
	return f
}

// in says whether the word is in data.
func (f *wordFinder) in(data []byte) bool {
	if f.hasFurtherLetters(data) {
		return bytes.Contains(bytes.ToLower(data), []byte(f.word))
	}
	last := len(f.word) - 1
	if last < 0 {
		return true
	}
	end, endUpper := f.word[last], upper(f.word[last])
	for i := last; i < len(data); i += int(f.skip[data[i]]) {
		if c := data[i]; (c == end || c == endUpper) && f.isAt(data[i-last:i]) {
			return true
		}
	}
	return false
}

// isAt says whether the word stands there, but for its last letter.
func (f *wordFinder) isAt(data []byte) bool {
	for i, c := range data {
		if c != f.word[i] && c != upper(f.word[i]) {
			return false
		}
	}
	return true
}

// hasFurtherLetters says whether data has a letter outside of ASCII whose lower case is in the word: the sign of kelvin
// is a k, and the I with a dot an i.
func (f *wordFinder) hasFurtherLetters(data []byte) bool {
	return strings.Contains(f.word, "k") && bytes.Contains(data, []byte("\u212a")) ||
		strings.Contains(f.word, "i") && bytes.Contains(data, []byte("\u0130"))
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
