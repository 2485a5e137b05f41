package mail

import (
	"bytes"
	"slices"
	"strings"

	"c2c/inbox/finder"
)

// Up to fewIDs, searching for the bytes of each id is faster than reading every id in the data.
const fewIDs = 4

// mentions reports whether data may have a message with one of the ids. It searches for the bytes of the field, in the spelling of
// every known writer, because parsing takes a hundred times as long.
func mentions(data []byte, ids map[string]bool) bool { return mentionsAs(data, "message_id", ids) }

func mentionsAs(data []byte, name string, ids map[string]bool) bool {
	if len(ids) <= fewIDs {
		some := false
		for id := range ids {
			some = some || id == "" || finder.New(id).Index(data) >= 0
		}
		if !some {
			return false
		}
	}
	field := finder.New(`"` + name + `"`)
	for value, rest := nextText(data, field); value != nil; value, rest = nextText(rest, field) {
		if ids[string(value)] {
			return true
		}
	}
	return false
}

// nextText returns the raw text of the next field with this name, and the data after it; nil if there is none. field searches for
// the name with its quotes. In a body the quotes are escaped, so no body looks like a field.
func nextText(data []byte, field *finder.Finder) (value, rest []byte) {
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

// EachLink calls f for each answer in a file, with the id of the answer and the id of the message that it answers. It does not
// parse the messages, which would take a hundred times as long. others reports whether some answers must be parsed: they share a
// line, or are not in c2c's spelling.
func EachLink(file []byte, f func(id, answers string)) (others bool) {
	word, to, own := finder.New("in_reply_to"), finder.New(`"in_reply_to"`), finder.New(`"message_id"`)
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

// linkOf returns the id of the message on a line, and the id of the message that it answers.
func linkOf(line []byte, messageID, inReplyTo *finder.Finder) (id, answers string, ok bool) {
	to, rest := nextText(line, inReplyTo)
	own, more := nextText(line, messageID)
	again, _ := nextText(rest, inReplyTo)
	second, _ := nextText(more, messageID)
	ok = to != nil && own != nil && again == nil && second == nil && ValidName(string(own)) && ValidName(string(to))
	return string(own), string(to), ok
}

// HoldsAnswer makes a function for inbox.Query.Holds: it reports whether the data may have an answer to one of the ids.
func HoldsAnswer(ids map[string]bool) func(data []byte) bool {
	return func(data []byte) bool { return mentionsAs(data, "in_reply_to", ids) }
}

// HoldsSender makes a function for inbox.Query.Holds: it reports whether the data may have a message that was sent under one of the
// aliases, or by one of the sessions. In a body the quotes are escaped, so no body looks like a field.
func HoldsSender(names []string) func(data []byte) bool {
	var marks [][]byte
	for _, field := range []string{`"from_alias"`, `"from_session"`} {
		for _, name := range names {
			marks = append(marks, []byte(field+`:"`+name+`"`), []byte(field+`: "`+name+`"`))
		}
		marks = append(marks, []byte(field+" "), []byte(field+"\n")) // from an unknown writer: it must be parsed
	}
	return func(data []byte) bool {
		return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(data, mark) })
	}
}

// HoldsID makes a function for inbox.Query.Holds: it reports whether the data may have a message with one of the ids.
func HoldsID(ids map[string]bool) func(data []byte) bool {
	return func(data []byte) bool { return mayHold(data, ids) }
}

// mayHold reports whether a mailbox file may have one of the ids. No file has an id that c2c made for a message without one
// (legacy-…).
func mayHold(file []byte, ids map[string]bool) bool {
	if mentions(file, ids) {
		return true
	}
	for id := range ids {
		if strings.HasPrefix(id, legacyPrefix) {
			return true
		}
	}
	return false
}

// IsAmong reports whether ids has an id, or the short form of it.
func IsAmong(id string, ids map[string]bool) bool { return ids[id] || ids[ShortID(id)] }

// LinesWith returns the offsets at which the lines begin that may have one of the ids. Parsing them would take a hundred times as long.
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
		word := finder.New(id)
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

// EachID calls f for each id in data, with the place where its line begins.
func EachID(data []byte, f func(id string, start int)) {
	field := finder.New(`"message_id"`)
	for value, rest := nextText(data, field); value != nil; value, rest = nextText(rest, field) {
		f(string(value), bytes.LastIndexByte(data[:len(data)-len(rest)], '\n')+1)
	}
}

// HoldsShownID makes a function for inbox.Query.Holds: it reports whether the data may have a message whose id, whole or shown, is
// in ids. also, if set, must return true as well.
func HoldsShownID(ids map[string]bool, also func([]byte) bool) func(data []byte) bool {
	var few []*finder.Finder
	legacy := false
	for id := range ids {
		legacy = legacy || strings.HasPrefix(id, legacyPrefix) // c2c made such an id, and no file has it
		if len(ids) <= fewIDs && id != "" {
			few = append(few, finder.New(id))
		}
	}
	return func(data []byte) bool {
		some := legacy || slices.ContainsFunc(few, func(f *finder.Finder) bool { return f.Index(data) >= 0 }) || len(ids) > fewIDs && len(LinesWith(data, ids)) > 0
		return some && (also == nil || also(data))
	}
}
