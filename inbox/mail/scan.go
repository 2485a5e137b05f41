package mail

import (
	"bytes"
	"slices"
	"strings"

	"c2c/inbox/finder"
)

// Up to fewIDs, looking for the bytes of each id is quicker than reading every id.
const FewIDs = 4

// mentions says whether a message in data may have one of the ids. It looks for the bytes of the field, in the
// spelling of every known writer: parsing takes a hundred times as long.
func mentions(data []byte, ids map[string]bool) bool { return mentionsAs(data, "message_id", ids) }

func mentionsAs(data []byte, name string, ids map[string]bool) bool {
	if len(ids) <= FewIDs {
		some := false
		for id := range ids {
			some = some || id == "" || finder.New(id).Index(data) >= 0
		}
		if !some {
			return false
		}
	}
	field := finder.New(`"` + name + `"`)
	for value, rest := NextText(data, field); value != nil; value, rest = NextText(rest, field) {
		if ids[string(value)] {
			return true
		}
	}
	return false
}

// NextText gives the text of the next field of a name, which field has with its quotes, as it is written, and what stands
// behind it; nil when there is none. In a body the quotes are escaped, so no body looks like a field.
func NextText(data []byte, field *finder.Finder) (value, rest []byte) {
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

// EachLink calls f with the ids of each message in a file that answers another one, and that one's, without parsing them, which
// takes a hundred times as long. others says that there are messages that have to be parsed: several on a line, or not in
// the spelling of c2c.
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

// linkOf gives the ids of a message on a line, and of the one that it answers.
func linkOf(line []byte, messageID, inReplyTo *finder.Finder) (id, answers string, ok bool) {
	to, rest := NextText(line, inReplyTo)
	own, more := NextText(line, messageID)
	again, _ := NextText(rest, inReplyTo)
	second, _ := NextText(more, messageID)
	ok = to != nil && own != nil && again == nil && second == nil && ValidName(string(own)) && ValidName(string(to))
	return string(own), string(to), ok
}

// HoldsAnswer gives a function for Query.Holds: whether an answer to one of the ids may stand there.
func HoldsAnswer(ids map[string]bool) func(data []byte) bool {
	return func(data []byte) bool { return mentionsAs(data, "in_reply_to", ids) }
}

// HoldsSender gives a function for Query.Holds: whether a message may stand there that was sent under one of the aliases, or by
// one of the sessions. In a body the quotes are escaped, so no body looks like a field.
func HoldsSender(names []string) func(data []byte) bool {
	var marks [][]byte
	for _, field := range []string{`"from_alias"`, `"from_session"`} {
		for _, name := range names {
			marks = append(marks, []byte(field+`:"`+name+`"`), []byte(field+`: "`+name+`"`))
		}
		marks = append(marks, []byte(field+" "), []byte(field+"\n")) // of a writer that nobody knows: it is parsed
	}
	return func(data []byte) bool {
		return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(data, mark) })
	}
}

// HoldsID gives a function for Query.Holds: whether a message with one of the ids may stand there.
func HoldsID(ids map[string]bool) func(data []byte) bool {
	return func(data []byte) bool { return mayHold(data, ids) }
}

// mayHold says whether a mailbox file may hold one of the ids. An id that c2c made for a message without one (legacy-…)
// is in no file.
func mayHold(file []byte, ids map[string]bool) bool {
	if mentions(file, ids) {
		return true
	}
	for id := range ids {
		if strings.HasPrefix(id, LegacyPrefix) {
			return true
		}
	}
	return false
}
