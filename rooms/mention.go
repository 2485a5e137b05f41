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

// Mentions finds the names after an @ in a text, each once. The result aliases has the names for
// which the function isKnown returns true, and unknown has all others. The result all says that the
// text names all members. An @ in code or in a quote names nobody, because agents show each other
// code, and quote each other.
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

// joins reports whether a character next to a name makes it another, longer word. The letters of a
// script without capitals, such as Chinese, do not: such scripts write no blank around a name.
func joins(c rune) bool {
	return unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsTitle(c) || unicode.IsMark(c) || unicode.IsNumber(c) || c == '.' || c == '_' || c == '-'
}

// prose returns a Markdown text without its blocks of code, code between backticks, and quotes.
func prose(text string) string {
	var out, paragraph strings.Builder
	flush := func() {
		out.WriteString(withoutTicks(paragraph.String()))
		out.WriteByte('\n')
		paragraph.Reset()
	}
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "" {
				fence = ""
			}
		case bare == "", strings.HasPrefix(bare, ">"):
			flush()
		default:
			if fence = fenceOf(bare); fence != "" {
				flush()
			} else {
				paragraph.WriteString(line)
			}
		}
	}
	flush()
	return out.String()
}

// fenceOf returns the marks of a line that begins a block of code, such as ```. For any other line
// it returns "".
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

// withoutTicks replaces code between backticks by a blank.
func withoutTicks(s string) string {
	var b strings.Builder
	none := map[int]bool{} // lengths of runs of backticks that do not occur in the rest of s
	for i := 0; i < len(s); {
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
