package mail

import (
	"strings"
	"unicode/utf8"
)

// ShortLen is how many characters of an id are shown, and how many of its beginning or end must be typed at the least.
const ShortLen = 8

// ShortID is an id as people and models are shown it. Of a UUID these are the last characters, which are random: the
// first ones are the time, and alike within a minute. Any other id was chosen by its sender, and is shown whole.
func ShortID(id string) string {
	if IsUUID(id) {
		return id[len(id)-ShortLen:]
	}
	return id
}

// IsUUID says whether an id is a whole UUID.
func IsUUID(id string) bool {
	return len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-' &&
		strings.Count(id, "-") == 4 && isHex(id)
}

// LooksLikeID says whether a word may be a part of a UUID, or a whole one.
func LooksLikeID(word string) bool { return len(word) >= ShortLen && len(word) <= 36 && isHex(word) }

// isHex says whether there are only hex digits and hyphens, as in a UUID.
func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF-") == ""
}

// FirstWords is the beginning of the content on one line, at most so many characters. Nothing in it steers a terminal, or
// looks like one of the tags in which a client tells its model who speaks.
func (m Message) FirstWords(most int) string {
	text := m.Content[:min(len(m.Content), 8*most)]
	text = escapeFrames(Visible(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "), ""))
	if utf8.RuneCountInString(text) <= most && len(m.Content) <= 8*most {
		return text
	}
	runes := []rune(text)
	return strings.TrimRight(string(runes[:min(len(runes), most-1)]), " ") + "…"
}
