package rooms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsAll reports whether a name, such as all in @all, stands for every member.
func IsAll(name string) bool {
	switch strings.ToLower(name) {
	case "all", "everyone", "everybody", "here", "channel", "room":
		return true
	}
	return false
}

// Mentions finds the names after an @ in a text, each once. The result aliases has the names for which the function isKnown returns true, and
// unknown has all others. The result all says that the text names all members. An @ in code or in a quote names nobody, because agents show
// each other code, and quote each other.
func Mentions(text string, isKnown func(alias string) bool) (aliases, unknown []string, all bool) {
	seen := map[string]bool{}
	text = prose(text)
	for i := 0; i < len(text); i++ {
		if before, _ := utf8.DecodeLastRuneInString(text[:i]); text[i] != '@' || i > 0 && (joins(before) || strings.ContainsRune(`@/\+`, before)) {
			continue
		}
		rest := strings.TrimLeftFunc(text[i+1:], func(c rune) bool { return joins(c) || c == '@' }) // birch@devbox is a session on another machine
		if rest == text[i+1:] {                                                                     // a name in a script without capitals is no alias, but the author has meant somebody
			rest = strings.TrimLeftFunc(rest, unicode.IsLetter)
		}
		end := len(text) - len(rest)
		name := strings.TrimRight(text[i+1:end], ".") // no alias ends with a dot, so this one ends the sentence
		i = end - 1
		if strings.HasPrefix(rest, "/") { // the name of a package
			continue
		}
		if !isKnown(name) {
			name = strings.TrimRight(name, "._-") // punctuation, such as that of Markdown
		}
		key := strings.ToLower(name)
		switch {
		case name == "" || seen[key]:
			continue
		case isKnown(name):
			aliases = append(aliases, name)
		case IsAll(name):
			all = true
		default:
			unknown = append(unknown, strings.ToValidUTF8(name[:min(len(name), maxAlias)], ""))
		}
		seen[key] = true
	}
	return aliases, unknown, all
}

// maxAlias is the greatest length of an alias.
const maxAlias = 64

// joins reports whether a character next to a name makes it another, longer word. The letters of a script without capitals, such as Chinese, do
// not: such scripts write no blank around a name.
func joins(c rune) bool {
	return unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsTitle(c) || unicode.IsMark(c) || unicode.IsNumber(c) || c == '.' || c == '_' || c == '-'
}

// prose returns a Markdown text without its code and its quotes. It may treat more text as code than Markdown does, but never less.
func prose(text string) string {
	var out, paragraph strings.Builder
	flush := func() {
		out.WriteString(withoutSpans(paragraph.String()))
		out.WriteByte('\n')
		paragraph.Reset()
	}
	fence, blank, indented := "", true, false
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " \t")
		bare := strings.TrimRight(rest, " \t\r\n")
		if fence != "" {
			if strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if fence = fenceOf(unlisted(rest)); fence != "" {
			flush()
			blank, indented = true, false
			continue
		}
		deep := len(line)-len(rest) >= 4 || strings.HasPrefix(line, "\t")
		switch {
		case bare == "":
			flush()
			blank = true
			continue
		case deep && (blank || indented):
			flush()
			indented = true
			continue
		case strings.HasPrefix(unlisted(rest), ">"):
			flush()
		default:
			paragraph.WriteString(line)
		}
		blank, indented = false, false
	}
	flush()
	return out.String()
}

// unlisted drops the marks of list items at the beginning of a text.
func unlisted(s string) string {
	for {
		rest := strings.TrimLeft(s, "0123456789")
		switch {
		case len(s) > 1 && strings.IndexByte("-*+", s[0]) >= 0 && (s[1] == ' ' || s[1] == '\t'):
			s = strings.TrimLeft(s[2:], " \t")
		case len(rest) < len(s) && len(rest) > 1 && (rest[0] == '.' || rest[0] == ')') && (rest[1] == ' ' || rest[1] == '\t'):
			s = strings.TrimLeft(rest[2:], " \t")
		default:
			return s
		}
	}
}

// fenceOf returns the marks of a line that begins a block of code, such as ```. For any other line it returns "".
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

// withoutSpans replaces code between backticks, and between the tags code and pre, by a blank.
func withoutSpans(s string) string {
	if strings.IndexByte(s, '`') >= 0 {
		s = withoutTicks(s)
	}
	for _, tag := range []string{"code", "pre"} {
		s = withoutTag(s, tag)
	}
	return s
}

func withoutTicks(s string) string {
	var b strings.Builder
	none := map[int]bool{} // lengths of runs of backticks that do not occur in the rest of s
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) && s[i+1] == '`' {
			b.WriteString("\\ ")
			i += 2
			continue
		}
		if s[i] != '`' {
			b.WriteByte(s[i])
			i++
			continue
		}
		n := run(s[i:])
		end := -1
		for at := i + n; at < len(s) && !none[n]; {
			if s[at] != '`' {
				at++
				continue
			}
			m := run(s[at:])
			if m == n {
				end = at + m
				break
			}
			at += m
		}
		if end < 0 {
			none[n] = true
			end = i + n
		}
		b.WriteByte(' ')
		i = end
	}
	return b.String()
}

// run returns how many backticks a text begins with.
func run(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

func withoutTag(s, tag string) string {
	lower := strings.ToLower(s)
	if len(lower) != len(s) || !strings.Contains(lower, "<"+tag) {
		return s
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(lower[at:], "<"+tag)
		if i < 0 {
			b.WriteString(s[at:])
			return b.String()
		}
		b.WriteString(s[at : at+i])
		b.WriteByte(' ')
		end := strings.Index(lower[at+i:], "</"+tag)
		if end < 0 {
			return b.String()
		}
		at += i + end + len("</"+tag)
	}
}
