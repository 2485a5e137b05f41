// This part searches data for a text. It is fast enough to search a whole archive of messages.
// Several goroutines may use one Finder at once.

package mail

import (
	"bytes"
	"strings"
)

// A Finder searches for a text. bytes.IndexByte searches for one byte of the text, and checks 32
// bytes at a time; only where data has this byte the Finder compares. The byte is the one that is
// rarest in mail. This is several times faster than bytes.Index, which searches for the first byte
// of the text: if the text is the name of a JSON field, its first byte is a quote, and quotes are
// everywhere.
type Finder struct {
	Text    string // in lower case if case does not count
	anyCase bool
	rare    int // the index in Text of the byte that is rarest in mail
}

// often has the bytes that are frequent in an archive, the most frequent ones first, as counted in
// one with paragraphs of c2c's documentation as bodies.
const often = ` "easontirdc,:-hbl0123456789f_mu.ypwkgvqxjz`

// NewFinder makes a Finder for exactly this text.
func NewFinder(text string) *Finder { return newFinder(text, false) }

// AnyCaseFinder makes a Finder for an ASCII word, whose case does not count. The argument word must
// be in lower case.
func AnyCaseFinder(word string) *Finder { return newFinder(word, true) }

func newFinder(text string, anyCase bool) *Finder {
	f := &Finder{Text: text, anyCase: anyCase}
	most := -1
	for i := range len(text) {
		rank := strings.IndexByte(often, text[i])
		if rank < 0 {
			rank = len(often)
		}
		if rank > most {
			f.rare, most = i, rank
		}
	}
	return f
}

// other returns the upper case of byte i of the text if case does not count, and otherwise the byte
// itself.
func (f *Finder) other(i int) byte {
	if c := f.Text[i]; f.anyCase && 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return f.Text[i]
}

// In reports whether data contains the text. If case does not count, In converts all letters of
// data to lower case, not only the ASCII letters.
func (f *Finder) In(data []byte) bool {
	if f.Index(data) >= 0 {
		return true
	}
	return f.anyCase && f.hasFurtherLetters(data) && bytes.Contains(bytes.ToLower(data), []byte(f.Text))
}

// hasFurtherLetters reports whether data has a letter outside of ASCII whose lower case is an ASCII
// letter of the text. There are two such letters: the Kelvin sign becomes k, and the I with a dot
// becomes i.
func (f *Finder) hasFurtherLetters(data []byte) bool {
	return strings.Contains(f.Text, "k") && bytes.Contains(data, []byte("\u212a")) ||
		strings.Contains(f.Text, "i") && bytes.Contains(data, []byte("\u0130"))
}

// Index returns the offset at which the text begins in data, or -1. If case does not count, Index
// ignores the case of ASCII letters only.
func (f *Finder) Index(data []byte) int {
	switch {
	case f.Text == "":
		return 0
	case len(data) < len(f.Text):
		return -1
	}
	// The rare byte can stand only in this part of data. If it is window[i], the text may begin at
	// data[i].
	window := data[f.rare : len(data)-(len(f.Text)-1-f.rare)]
	next := func(from int, c byte) int {
		if i := bytes.IndexByte(window[from:], c); i >= 0 {
			return from + i
		}
		return len(window)
	}
	one, other := f.Text[f.rare], f.other(f.rare)
	i, j := next(0, one), len(window)
	if other != one {
		j = next(0, other)
	}
	for {
		first := min(i, j)
		switch {
		case first == len(window):
			return -1
		case f.isAt(data[first:]):
			return first
		case first == i:
			i = next(first+1, one)
		default:
			j = next(first+1, other)
		}
	}
}

// isAt reports whether data begins with the text. The argument data must not be shorter than the
// text.
func (f *Finder) isAt(data []byte) bool {
	if !f.anyCase {
		return string(data[:len(f.Text)]) == f.Text
	}
	for i := range len(f.Text) {
		if c := data[i]; c != f.Text[i] && c != f.other(i) {
			return false
		}
	}
	return true
}
