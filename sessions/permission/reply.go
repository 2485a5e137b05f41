package permission

import (
	"strings"
	"unicode/utf8"
)

// ParseReply parses a verdict in the form of Claude Code's Channels reference ("Add relay to a chat bridge"):
//
//	/^\s*(y|yes|n|no)\s+([a-km-z]{5})\s*$/i
//
// It returns the id in lower case. For any other text, ok is false. ParseReply does not use package regexp, where \s and /i have another
// meaning than in JavaScript.
func ParseReply(text string) (id string, allow, ok bool) {
	word, rest := cutAtSpace(strings.TrimFunc(text, isSpace))
	id = lower(strings.TrimFunc(rest, isSpace))
	if !isID(id) {
		return "", false, false
	}
	switch lower(word) {
	case "y", "yes":
		return id, true, true
	case "n", "no":
		return id, false, true
	}
	return "", false, false
}

func cutAtSpace(text string) (word, rest string) {
	i := strings.IndexFunc(text, isSpace)
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i:]
}

// lower changes only ASCII letters: strings.ToLower would turn the Kelvin sign into a k.
func lower(text string) string {
	if len(text) > 5 {
		return text
	}
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// isSpace reports whether \s matches r in JavaScript.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return 0x2000 <= r && r <= 0x200a
}

// isID reports whether a client can have made this id. Clients leave out the letter l, which looks like 1 and I.
func isID(id string) bool {
	if len(id) != 5 {
		return false
	}
	for _, c := range []byte(id) {
		if c < 'a' || c > 'z' || c == 'l' {
			return false
		}
	}
	return true
}

// cut shortens a text to at most limit bytes, and marks the cut.
func cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	text = text[:limit-len(mark)]
	for len(text) > 0 {
		if r, n := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || n != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text + mark
}
