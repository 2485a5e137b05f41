package watch

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"c2c/inbox/mail"
)

// clean makes a foreign text safe to draw: it removes control sequences, and characters that
// reverse the direction of a line.
func clean(text string) string {
	return strings.ReplaceAll(mail.Visible(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t"), "\t", "    ")
}

// word is like clean, for text within a line: it leaves no line breaks and no tabs.
func word(text string) string { return mail.Visible(text, "") }

// cells calls f with each character of a line and its width in columns, until f returns false.
// Terminals disagree on the width of a character that has several parts. So cells keeps only the
// first part of a joined or coloured emoji, but all accents of a letter.
func cells(line string, f func(char string, width int) (more bool)) {
	state := -1
	for line != "" {
		var cluster string
		cluster, line, _, state = uniseg.FirstGraphemeClusterInString(line, state)
		char := ""
		for i, r := range cluster {
			if i == 0 || len(char) < 16 && unicode.Is(unicode.Mn, r) && (r < 0xfe00 || r > 0xfe0f) {
				char += string(r)
			}
		}
		if width := uniseg.StringWidth(char); width > 0 && !f(char, min(width, 2)) {
			return
		}
	}
}

// width returns how many columns a line takes.
func width(line string) (n int) {
	cells(line, func(_ string, w int) bool { n += w; return true })
	return n
}

// cut shortens a line to at most limit columns, and marks the cut with ….
func cut(line string, limit int) string {
	if limit <= 0 {
		return ""
	}
	if width(line) <= limit {
		return line
	}
	n, kept := 0, strings.Builder{}
	cells(line, func(char string, w int) bool {
		if n+w > limit-1 {
			return false
		}
		n += w
		kept.WriteString(char)
		return true
	})
	return kept.String() + "…"
}

// wrap breaks a text into lines of at most limit columns, between words if possible.
func wrap(text string, limit int) (lines []string) {
	limit = max(limit, 2)
	for para := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line, columns := "", 0 // the unfinished line
		for _, w := range strings.SplitAfter(para, " ") {
			if n := width(strings.TrimRight(w, " ")); columns > 0 && columns+n > limit {
				lines = append(lines, strings.TrimRight(line, " "))
				line, columns = "", 0
			}
			cells(w, func(char string, n int) bool {
				if columns+n > limit && char == " " {
					return true
				}
				if columns+n > limit {
					lines = append(lines, line)
					line, columns = "", 0
				}
				line, columns = line+char, columns+n
				return true
			})
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
