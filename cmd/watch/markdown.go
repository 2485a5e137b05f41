package watch

import (
	"regexp"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// textLine is a line of a body, with its style.
type textLine struct {
	text  string
	style tcell.Style
}

// These are the lines of Markdown that layout treats differently from running text, and the style
// of code. The marks of these lines, such as "#" and "-", are shown as they are.
var (
	heading = regexp.MustCompile(`^#{1,6} `)
	item    = regexp.MustCompile(`^ *(?:[-*+]|\d{1,3}[.)]|>) +`)
	code    = plain.Foreground(tcell.PaletteColor(37))
)

// layout breaks a body into lines that fit into the given columns. In a list item, further lines
// begin below the text of the item.
func layout(text string, columns int) (lines []textLine) {
	add := func(style tcell.Style, texts ...string) {
		for _, t := range texts {
			lines = append(lines, textLine{t, style})
		}
	}
	fence := ""
	for row := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		begins := strings.TrimLeft(row, " ")
		mark := begins[:len(begins)-len(strings.TrimLeft(begins, "`~"))]
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
			add(code, wrap(row, columns)...)
		case len(mark) >= 3 && (strings.Trim(mark, "`") == "" || strings.Trim(mark, "~") == ""):
			fence = mark
			add(code, wrap(row, columns)...)
		case strings.HasPrefix(row, "    "):
			add(code, wrap(row, columns)...)
		case heading.MatchString(row):
			add(bold, wrap(row, columns)...)
		default:
			add(plain, hanging(row, columns)...)
		}
	}
	return lines
}

// hanging breaks a line between words. Further lines begin below the text of the first line, not
// below the mark of a list item.
func hanging(row string, columns int) []string {
	begin := item.FindString(row)
	if begin == "" {
		begin = row[:len(row)-len(strings.TrimLeft(row, " "))]
	}
	room := columns - width(begin)
	if begin == "" || room < max(2, columns/2) {
		return wrap(row, columns)
	}
	lines := wrap(row[len(begin):], room)
	for i := range lines {
		lead := begin
		if i > 0 {
			lead = strings.Repeat(" ", width(begin))
		}
		lines[i] = strings.TrimRight(lead+lines[i], " ")
	}
	return lines
}
