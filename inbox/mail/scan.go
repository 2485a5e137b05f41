package mail

import (
	"bytes"
	"slices"
	"strings"
)

// For at most fewIDs ids it is faster to search for the bytes of each id than to read every id in
// the data.
const fewIDs = 4

// nextText returns the raw text of the next field with a name, and the data after the text. It
// returns nil if there is no such field. The argument field is a finder of the name with its
// quotes. In a body the quotes are escaped, so no body looks like a field.
func nextText(data []byte, field *Finder) (value, rest []byte) {
	for {
		i := field.Index(data)
		if i < 0 {
			return nil, nil
		}
		data = bytes.TrimLeft(data[i+len(field.Text):], " \t\r\n")
		value, ok := bytes.CutPrefix(data, []byte(":"))
		value, ok2 := bytes.CutPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte(`"`))
		if end := bytes.IndexByte(value, '"'); ok && ok2 && end >= 0 {
			return value[:end:end], value[end:]
		}
	}
}

// EachLink calls f for each answer in a file, with the id of the answer and the id of the message
// that it answers. It does not parse the messages, which would take a hundred times as long. The
// result others reports whether the file has further answers, which must be parsed: they share a
// line, or are not in c2c's spelling.
func EachLink(file []byte, f func(id, answers string)) (others bool) {
	word, to, own := NewFinder("in_reply_to"), NewFinder(`"in_reply_to"`), NewFinder(`"message_id"`)
	for {
		i := word.Index(file)
		if i < 0 {
			return others
		}
		line, rest, _ := bytes.Cut(file[i:], []byte("\n"))
		line = file[bytes.LastIndexByte(file[:i], '\n')+1 : i+len(line)]
		id, answers, ok := linkOf(line, own, to)
		if ok {
			f(id, answers)
		}
		file, others = rest, others || !ok
	}
}

// linkOf returns the id of the message on a line, and the id of the message that it answers. The
// result ok is false if the line must be parsed.
func linkOf(line []byte, messageID, inReplyTo *Finder) (id, answers string, ok bool) {
	to, rest := nextText(line, inReplyTo)
	own, more := nextText(line, messageID)
	again, _ := nextText(rest, inReplyTo)
	second, _ := nextText(more, messageID)
	ok = to != nil && own != nil && again == nil && second == nil && ValidName(string(own)) && ValidName(string(to))
	return string(own), string(to), ok
}

// HoldsAnswer makes a function for inbox.Query.Holds. The function reports whether the data may
// have an answer to one of the ids.
func HoldsAnswer(ids map[string]bool) func(data []byte) bool {
	return holdsText("in_reply_to", ids, func(id []byte) bool { return ids[string(id)] })
}

// holdsText makes a function that reports whether data has a field with this name and a text for
// which match returns true; the text is or ends with one of the ids. It searches for the bytes of
// the field, in every spelling that known programs use, because parsing takes a hundred times as
// long.
func holdsText(name string, ids map[string]bool, match func(text []byte) bool) func(data []byte) bool {
	field := NewFinder(`"` + name + `"`)
	var few []*Finder
	for id := range ids {
		if len(ids) <= fewIDs && id != "" {
			few = append(few, NewFinder(id))
		}
	}
	return func(data []byte) bool {
		if few != nil && !slices.ContainsFunc(few, func(f *Finder) bool { return f.Index(data) >= 0 }) {
			return false
		}
		for value, rest := nextText(data, field); value != nil; value, rest = nextText(rest, field) {
			if match(value) {
				return true
			}
		}
		return false
	}
}

// HoldsSender makes a function for inbox.Query.Holds. The function reports whether the data may
// have a message from one of the senders; each name is an alias or the id of a session. In a body
// the quotes are escaped, so no body looks like a field.
func HoldsSender(names []string) func(data []byte) bool {
	var marks [][]byte
	for _, field := range []string{`"from_alias"`, `"from_session"`} {
		for _, name := range names {
			marks = append(marks, []byte(field+`:"`+name+`"`), []byte(field+`: "`+name+`"`))
		}
		marks = append(marks, []byte(field+" "), []byte(field+"\n")) // the spelling of an unknown program: it must be parsed
	}
	return func(data []byte) bool {
		return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(data, mark) })
	}
}

// IsAmong reports whether id or its short form is in ids.
func IsAmong(id string, ids map[string]bool) bool { return ids[id] || ids[ShortID(id)] }

// LinesWith returns the offsets of the lines that may have one of the ids. It does not parse the
// lines, which would take a hundred times as long.
func LinesWith(data []byte, ids map[string]bool) (starts []int) {
	if len(ids) > fewIDs {
		EachID(data, func(id string, start int) {
			if IsAmong(id, ids) {
				starts = append(starts, start)
			}
		})
		return starts
	}
	for id := range ids {
		if id == "" {
			continue
		}
		word := NewFinder(id)
		for at := 0; at < len(data); {
			i := word.Index(data[at:])
			if i < 0 {
				break
			}
			at += i
			starts = append(starts, bytes.LastIndexByte(data[:at], '\n')+1)
			end := bytes.IndexByte(data[at:], '\n')
			if end < 0 {
				break
			}
			at += end + 1
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// EachID calls f for each id in data, with the offset of the line that has the id.
func EachID(data []byte, f func(id string, start int)) {
	field := NewFinder(`"message_id"`)
	for value, rest := nextText(data, field); value != nil; value, rest = nextText(rest, field) {
		f(string(value), bytes.LastIndexByte(data[:len(data)-len(rest)], '\n')+1)
	}
}

// HoldsID makes a function for inbox.Query.Holds. The function reports whether the data may have a
// message whose id, or the short form of its id, is in ids. If the argument holds is not nil, the
// function reports true only if holds does, too.
func HoldsID(ids map[string]bool, holds func([]byte) bool) func(data []byte) bool {
	legacy, some := false, holdsText("message_id", ids, func(id []byte) bool { return IsAmong(string(id), ids) })
	for id := range ids {
		legacy = legacy || strings.HasPrefix(id, legacyPrefix) // c2c made such an id, and no file has it
	}
	return func(data []byte) bool { return (legacy || some(data)) && (holds == nil || holds(data)) }
}
