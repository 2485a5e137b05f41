package inbox

// A finder looks for a text by the skips of Boyer, Moore and Horspool. It reads a few bytes of each length of the text, which
// in a long file is several times as fast as bytes.Index: a look for a message may go through the whole archive.
type finder struct {
	text string     // not empty
	skip [256]uint8 // by the byte under the text's last one: how far the text may be moved
}

func newFinder(text string) *finder {
	f := &finder{text: text}
	for i := range f.skip {
		f.skip[i] = uint8(min(len(text), 255))
	}
	for i := range len(text) - 1 {
		f.skip[text[i]] = uint8(min(len(text)-1-i, 255))
	}
	return f
}

// index is where the text begins in data, or -1.
func (f *finder) index(data []byte) int {
	last := len(f.text) - 1
	end := f.text[last]
	for i := last; i < len(data); i += int(f.skip[data[i]]) {
		if data[i] == end && string(data[i-last:i]) == f.text[:last] {
			return i - last
		}
	}
	return -1
}
