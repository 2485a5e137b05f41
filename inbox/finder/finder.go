// Package finder searches bytes for a text, fast enough for a whole archive. Several goroutines may use one Finder at once.
package finder

import (
	"bytes"
	"strings"
)

// A Finder searches for a text in one of two ways, whichever is faster for the data. Neither compares byte by byte:
//
//   - Boyer, Moore and Horspool skip about the length of the text at a time, which is good for a long text.
//   - bytes.IndexByte checks 32 bytes at a time for the byte of the text that is rarest in the data. That is several
//     times faster than bytes.Index, which looks for the first byte of the text. The first byte of a field's name is a
//     quote, and quotes are everywhere.
type Finder struct {
	Text    string // in lower case if case does not count
	anyCase bool
	skip    [256]uint8 // how far to move on, for each byte of data that may be under the text's last byte
}

// New looks for exactly this text.
func New(text string) *Finder { return newFinder(text, false) }

// AnyCase looks for a word of ASCII in any case. The word must be in lower case.
func AnyCase(word string) *Finder { return newFinder(word, true) }

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

// other returns the second spelling of a byte of the text: its upper case, or the byte itself.
func (f *Finder) other(i int) byte {
	if c := f.Text[i]; f.anyCase && 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return f.Text[i]
}

// In reports whether data contains the text. If case does not count, all letters of data count as lower case, not only ASCII ones.
func (f *Finder) In(data []byte) bool {
	if f.Index(data) >= 0 {
		return true
	}
	return f.anyCase && f.hasFurtherLetters(data) && bytes.Contains(bytes.ToLower(data), []byte(f.Text))
}

// hasFurtherLetters reports whether data has one of the two letters outside of ASCII whose lower case is in ASCII and in the text:
// the Kelvin sign becomes k, and the I with a dot becomes i.
func (f *Finder) hasFurtherLetters(data []byte) bool {
	return strings.Contains(f.Text, "k") && bytes.Contains(data, []byte("\u212a")) ||
		strings.Contains(f.Text, "i") && bytes.Contains(data, []byte("\u0130"))
}

// near is how many bytes Index searches before it takes a sample. Searching these bytes takes less time than the sample.
const near = 1 << 10

// Index returns where the text begins in data, or -1. If case does not count, that holds for ASCII letters only.
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

// skipping is Index by skips, from an offset on.
func (f *Finder) skipping(data []byte, from int) int {
	last := len(f.Text) - 1
	if last < 0 {
		return from
	}
	end, other := f.Text[last], f.other(last)
	for i := from + last; i < len(data); i += int(f.skip[data[i]]) {
		if c := data[i]; (c == end || c == other) && f.isAt(data[i-last:]) {
			return i - last
		}
	}
	return -1
}

// jumping is Index, but compares only at places where data has the byte Text[at]. If there are too many such places, it
// searches the rest by skips.
func (f *Finder) jumping(data []byte, from, at int) int {
	// begins is the part of data in which Text[at] can stand. If it stands at an index of begins, the text may begin at this index of data.
	begins := data[at : len(data)-(len(f.Text)-1-at)]
	next := func(from int, c byte) int {
		if i := bytes.IndexByte(begins[from:], c); i >= 0 {
			return from + i
		}
		return len(begins)
	}
	one, other := f.Text[at], f.other(at)
	i, j := next(from, one), len(begins)
	if other != one {
		j = next(from, other)
	}
	for vain := 0; ; vain++ {
		first := min(i, j)
		switch {
		case first == len(begins):
			return -1
		case f.isAt(data[first:]):
			return first
		case vain > 64+(first-from)/16:
			return f.skipping(data, first+1)
		case first == i:
			i = next(first+1, one)
		default:
			j = next(first+1, other)
		}
	}
}

// The cost of a step, in tenths of a nanosecond.
const (
	costOfSkip = 30 // to the next place by skips
	costOfJump = 60 // to the next place where a byte stands
	costOf64   = 10 // for 64 bytes between two such places
	samples    = 256
)

// rarest takes a sample of data, and returns which byte of the text is rarest there, or -1 if skips are faster. The places of the
// sample are irregular, because similar messages have lines of equal length.
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

// isAt reports whether the text stands at the beginning of data, which is at least as long.
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
