package mail

import (
	"strings"
	"unicode/utf8"
)

// ShortLen is the number of characters of a UUID that c2c shows. A user must type at least so many
// characters of its beginning or its end.
const ShortLen = 8

// ShortID returns an id as c2c shows it to people and models: of a UUID the last characters,
// because the first ones are the time. Any other id was chosen by its sender, and stays whole.
func ShortID(id string) string {
	if !IsUUID(id) {
		return id
	}
	return id[len(id)-ShortLen:]
}

// IsUUID reports whether an id is a whole UUID.
func IsUUID(id string) bool {
	return len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-' &&
		strings.Count(id, "-") == 4 && isHex(id)
}

// LooksLikeID reports whether a word may be a UUID or a part of one.
func LooksLikeID(word string) bool { return len(word) >= ShortLen && len(word) <= 36 && isHex(word) }

// isHex reports whether s has only hex digits and hyphens, as in a UUID.
func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF-") == ""
}

// FirstWords returns the beginning of the content as one line of at most limit characters. The line
// has no control sequences for terminals, and nothing that looks like a tag by which a client tells
// its model who is speaking.
func (m Message) FirstWords(limit int) string { return m.words(limit, escapeFrames) }

// PlainWords is FirstWords for a person, who sees each tag as it was written.
func (m Message) PlainWords(limit int) string { return m.words(limit, printable) }

func (m Message) words(limit int, safe func(string) string) string {
	text := m.Content[:min(len(m.Content), 8*limit)]
	text = safe(Visible(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "), ""))
	if utf8.RuneCountInString(text) <= limit && len(m.Content) <= 8*limit {
		return text
	}
	runes := []rune(text)
	return strings.TrimRight(string(runes[:min(len(runes), limit-1)]), " ") + "…"
}
