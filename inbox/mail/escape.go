package mail

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable drops all control characters except tab and newline.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' { // U+009B too: terminals take it for ESC [
			return -1
		}
		return r
	}, s)
}

// The function escape escapes a text as XML does, so that the text cannot close or open a tag or an
// attribute.
func escape(s string) string { return printable(escaper.Replace(s)) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// frames are the tags that no body may contain: our own tag, and the tags by which a client tells
// its model who is speaking. The list has only the letters and digits of each tag. A slash means
// that only the closing tag matches, because the word itself is common in code.
var frames = []string{"c2c",
	"crosssessionmessage", "teammatemessage", "agentmessage", "sessionauthority", "/channel", "/cited", // other sessions
	"systemreminder", "systemnotification", "tasknotification", "subagentnotification", // the client itself
	"environmentcontext", "userinstructions", "turnaborted",
	"hookprompt", "hookcontext", "hookresult", "userpromptsubmit", "untrustedcontext", // hooks and tools
	"commandname", "commandmessage", "localcommand", "bashinput", "bashstdout", // the person at the client
}

// maxFrame is larger than the number of letters in the longest frame.
const maxFrame = 24

// likeBracket has the characters that Claude Code 2.1.329 reads as "<".
const likeBracket = "\u02c2\u1438\u16b2\u2039\u226a\u226e\u227a\u2280\u22d6\u22d8\u2329\u276c\u276e\u2770\u27e8\u27ea" +
	"\u2991\u2993\u29fc\u2a79\u2aa1\u2aa6\u2af7\u3008\ufe3d\ufe3f\ufe64\uff1c\U0001d236"

// IsBracket reports whether a client may read a character as "<".
func IsBracket(r rune) bool { return r == '<' || r >= 0x80 && strings.ContainsRune(likeBracket, r) }

// escapeFrames changes a body so that no client and no model finds one of the frames in it. It
// finds opening and closing tags in upper and lower case, also if blanks or other signs stand
// anywhere in the tag. It writes each bracket before the name of a frame as "&lt;".
func escapeFrames(body string) string {
	body = printable(body)
	var b strings.Builder
	written := 0
	var before []int // offsets of the brackets since the last letter or digit
	for i, r := range body {
		if IsBracket(r) {
			before = append(before, i)
		} else if len(before) > 0 && isWord(r) {
			if namesFrame(body[i:], strings.Contains(body[before[0]:i], "/")) {
				for _, at := range before {
					b.WriteString(body[written:at] + "&lt;")
					_, n := utf8.DecodeRuneInString(body[at:])
					written = at + n
				}
			}
			before = before[:0]
		}
	}
	return b.String() + body[written:]
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// namesFrame reports whether a text begins with the name of a frame. It ignores all signs between
// letters. The argument closing is true if the text is from a closing tag.
func namesFrame(s string, closing bool) bool {
	name := Letters(s, maxFrame)
	for _, f := range frames {
		word, common := strings.CutPrefix(f, "/")
		if strings.HasPrefix(name, word) && (closing || !common) {
			return true
		}
	}
	return false
}

// Letters returns the first letters and digits of a text, at most limit of them, in lower case and
// without the signs between them. It stops at the first letter that is not ASCII.
func Letters(s string, limit int) string {
	letters := make([]byte, 0, limit)
	for _, r := range s {
		switch {
		case r >= '\uff01' && r <= '\uff5e': // the wide forms of ASCII
			r -= 0xfee0
		case r >= utf8.RuneSelf: // \u017f and \u212a fold to s and k
			r = unicode.ToLower(unicode.ToUpper(r))
		}
		switch word := isWord(r); {
		case word && r >= utf8.RuneSelf, len(letters) == limit:
			return string(letters)
		case word:
			letters = append(letters, byte(unicode.ToLower(r)))
		}
	}
	return string(letters)
}
