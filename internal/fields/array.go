package fields

import "bytes"

// Array formats a file with an array of n objects: one object per line, and each bracket on a line
// of its own. The function add appends object number i to b, which has room for size bytes.
func Array(n, size int, add func(b []byte, i int) []byte) []byte {
	if n == 0 {
		return []byte("[]\n")
	}
	b := append(make([]byte, 0, size), "[\n"...)
	for i := range n {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = add(b, i)
	}
	return append(b, "\n]\n"...)
}

// Lines returns the objects of a file that Array wrote, without parsing them. The result ok is
// false for any other layout, and for a file with a block of zeros, which a power cut may leave.
func Lines(file []byte) (objects [][]byte, ok bool) {
	rest, ok := bytes.CutPrefix(file, []byte("[\n"))
	if ok {
		rest, ok = bytes.CutSuffix(rest, []byte("\n]\n"))
	}
	ok = ok && bytes.IndexByte(rest, 0) < 0
	objects = make([][]byte, 0, bytes.Count(rest, []byte("\n"))+1)
	for more := ok; more; {
		var line []byte
		if line, rest, more = bytes.Cut(rest, []byte("\n")); more {
			line, ok = bytes.CutSuffix(line, []byte(","))
		}
		if !ok || !bytes.HasPrefix(line, []byte(`{"`)) || !bytes.HasSuffix(line, []byte("}")) {
			return nil, false
		}
		objects = append(objects, line[:len(line):len(line)])
	}
	return objects, ok
}
