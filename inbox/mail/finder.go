// This part searches data for a text. It is fast enough to search a whole archive of messages. Several goroutines may use one
// Finder at once.

package mail

import (
	"bytes"
	"strings"
)

// A Finder searches for a text with one of two methods. It chooses the one that is faster for the data:
//
//   - Skips: the algorithm of Boyer, Moore and Horspool skips about as many bytes at a time as the text has. It is good for a long text.
//   - Jumps: bytes.IndexByte searches for one byte of the text, the one that is rarest in the data, and checks 32 bytes at a time.
//     This is several times faster than bytes.Index, which searches for the first byte of the text. If the text is the name of a
//     JSON field, its first byte is a quote, and quotes are everywhere.
type Finder struct {
	Text    string // in lower case if case does not count
	anyCase bool
	skip    [256]uint8 // skip[c]: how far to move the text on if the byte of data under the text's last byte is c
}

// New makes a Finder for exactly this text.
func NewFinder(text string) *Finder { return newFinder(text, false) }

// AnyCase makes a Finder for an ASCII word, whose case does not count. The argument word must be in lower case.
func AnyCaseFinder(word string) *Finder { return newFinder(word, true) }

func newFinder(text string, anyCase bool) *Finder {
	f := &Finder{Text: text, anyCase: anyCase}
	last := len(text) - 1
	for i := range f.skip {
		f.skip[i] = uint8(min(len(text), 255))
	}
	for i := range max(last, 0) {
		skip := uint8(min(last-i, 255))
		f.skip[text[i]], f.skip[f.other(i)] = skip, skip
	}
	return f
}

// other returns the upper case of byte i of the text if case does not count, and otherwise the byte itself.
func (f *Finder) other(i int) byte {
	if c := f.Text[i]; f.anyCase && 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return f.Text[i]
}

// In reports whether data contains the text. If case does not count, In converts all letters of data to lower case, not only the
// ASCII letters.
func (f *Finder) In(data []byte) bool {
	if f.Index(data) >= 0 {
		return true
	}
	return f.anyCase && f.hasFurtherLetters(data) && bytes.Contains(bytes.ToLower(data), []byte(f.Text))
}

// hasFurtherLetters reports whether data has a letter outside of ASCII whose lower case is an ASCII letter of the text. There are
// two such letters: the Kelvin sign becomes k, and the I with a dot becomes i.
func (f *Finder) hasFurtherLetters(data []byte) bool {
	return strings.Contains(f.Text, "k") && bytes.Contains(data, []byte("\u212a")) ||
		strings.Contains(f.Text, "i") && bytes.Contains(data, []byte("\u0130"))
}

// near is the number of bytes that Index searches before it takes a sample of the data. It searches them in less time than the
// sample takes.
const near = 1 << 10

// Index returns the offset at which the text begins in data, or -1. If case does not count, Index ignores the case of ASCII letters
// only.
func (f *Finder) Index(data []byte) int {
	if len(data) <= near || len(f.Text) > near {
		return f.skipping(data, 0)
	}
	if i := f.skipping(data[:near], 0); i >= 0 {
		return i
	}
	from := near - max(0, len(f.Text)-1)
	if at := f.rarest(data[from:]); at >= 0 {
		return f.jumping(data, from, at)
	}
	return f.skipping(data, from)
}

// skipping is Index by skips, from the offset start on.
func (f *Finder) skipping(data []byte, start int) int {
	last := len(f.Text) - 1
	if last < 0 {
		return start
	}
	end, other := f.Text[last], f.other(last)
	for i := start + last; i < len(data); i += int(f.skip[data[i]]) {
		if c := data[i]; (c == end || c == other) && f.isAt(data[i-last:]) {
			return i - last
		}
	}
	return -1
}

// jumping is Index by jumps, from the offset start on: it compares only where data has the byte Text[at]. If data has too many such
// bytes, it searches the rest by skips.
func (f *Finder) jumping(data []byte, start, at int) int {
	// The byte Text[at] can stand only in this part of data. If it is window[i], the text may begin at data[i].
	window := data[at : len(data)-(len(f.Text)-1-at)]
	next := func(from int, c byte) int {
		if i := bytes.IndexByte(window[from:], c); i >= 0 {
			return from + i
		}
		return len(window)
	}
	one, other := f.Text[at], f.other(at)
	i, j := next(start, one), len(window)
	if other != one {
		j = next(start, other)
	}
	for vain := 0; ; vain++ {
		first := min(i, j)
		switch {
		case first == len(window):
			return -1
		case f.isAt(data[first:]):
			return first
		case vain > 64+(first-start)/16:
			return f.skipping(data, first+1)
		case first == i:
			i = next(first+1, one)
		default:
			j = next(first+1, other)
		}
	}
}

// The costs of the two methods, in tenths of a nanosecond.
const (
	costOfSkip = 30  // one skip
	costOfJump = 60  // one jump to the next place of a byte
	costOf64   = 10  // 64 bytes between two such places
	samples    = 256 // the number of bytes in a sample
)

// rarest returns the index of the text's byte that is rarest in a sample of data, or -1 if skips are faster. The sample is from irregular
// places: similar messages have lines of equal length, so a sample from regular places could have the same part of each line.
func (f *Finder) rarest(data []byte) (at int) {
	var often [256]uint16
	skips, place := 0, uint32(1)
	for range samples {
		place = place*1664525 + 1013904223
		c := data[uint64(place)*uint64(len(data))>>32]
		often[c]++
		skips += int(f.skip[c])
	}
	at = -1
	least := samples * samples * costOfSkip / max(1, skips)
	for i := range len(f.Text) {
		one, other := f.Text[i], f.other(i)
		cost := int(often[one])*costOfJump + samples*costOf64/64
		if other != one {
			cost += int(often[other])*costOfJump + samples*costOf64/64
		}
		if cost < least {
			at, least = i, cost
		}
	}
	return at
}

// isAt reports whether data begins with the text. The argument data must not be shorter than the text.
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
