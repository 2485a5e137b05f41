package rooms

import (
	"strings"
)

// IsAll reports whether a name, such as all in @all, stands for every member.
func IsAll(name string) bool {
	switch strings.ToLower(name) {
	case "all", "everyone", "everybody", "here", "channel", "room":
		return true
	}
	return false
}

// Mentions returns the members that a text names with @, each once, and whether the text names all members. The function isMember reports
// whether a member has this alias. An @ in code or in a quote names nobody, because agents show each other code, and quote each other.
func Mentions(text string, isMember func(alias string) bool) (aliases []string, all bool) {
	seen := map[string]bool{}
	text = prose(text)
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || i > 0 && joined(text[i-1]) {
			continue
		}
		end := i + 1
		for end < len(text) && inAlias(text[end]) {
			end++
		}
		if end < len(text) && (text[end] == '@' || text[end] == '/') { // an address on another machine, or the name of a package
			i = end
			continue
		}
		name := text[i+1 : min(end, i+1+maxAlias)]
		if len(strings.TrimRight(text[i+1:end], "._-")) > maxAlias {
			name = ""
		}
		for name != "" && !isMember(name) && strings.IndexByte("._-", name[len(name)-1]) >= 0 {
			name = name[:len(name)-1] // drop the punctuation at the end of a sentence
		}
		switch key := strings.ToLower(name); {
		case name == "" || seen[key]:
		case isMember(name):
			seen[key] = true
			aliases = append(aliases, name)
		case IsAll(name):
			all = true
		}
		i = end - 1
	}
	return aliases, all
}

// maxAlias is the greatest length of an alias.
const maxAlias = 64

func inAlias(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// joined reports whether an @ after this byte belongs to a longer word, such as a mail address.
func joined(c byte) bool {
	return inAlias(c) || c == '@' || c == '/' || c == '\\' || c == '+' || c >= 0x80
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
