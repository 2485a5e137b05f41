package permission

import "strings"

// ParseReply parses a verdict in the form of Claude Code's Channels reference ("Add relay to a chat
// bridge"):
//
//	/^\s*(y|yes|n|no)\s+([a-km-z]{5})\s*$/i
//
// It returns the id in lower case. For any other text, ok is false.
func ParseReply(text string) (id string, allow, ok bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) != 2 || !isID(words[1]) {
		return "", false, false
	}
	switch words[0] {
	case "y", "yes":
		return words[1], true, true
	case "n", "no":
		return words[1], false, true
	}
	return "", false, false
}

// isID reports whether a client can have made this id. Clients leave out the letter l, which looks
// like 1 and I.
func isID(id string) bool {
	return len(id) == 5 && strings.Trim(id, "abcdefghijkmnopqrstuvwxyz") == ""
}

// cut shortens a text to at most limit bytes, and marks the cut.
func cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}
