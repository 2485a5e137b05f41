// Package terminals draws terminals as an SVG picture, for the README.
package terminals

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Pane is a terminal and its text.
type Pane struct {
	Title string
	Lines []string
}

// Sizes in the picture.
const (
	column, lineHeight = 6.7, 18
	top                = 46 // where the text of a terminal begins
	gap                = 12
)

// Draw draws terminals of this many columns, side by side or, if stacked, one below the other.
// Lines that begin with a prompt sign have another colour.
func Draw(columns int, stacked bool, panes ...Pane) []byte {
	rows := 0
	for i, pane := range panes {
		panes[i].Lines = folded(pane.Lines, columns-2)
		rows = max(rows, len(panes[i].Lines))
	}
	width, height := float64(columns)*column, top+rows*lineHeight+gap
	right, bottom := 2*width+3*gap, height+2*gap
	if stacked {
		right, bottom = width+2*gap, gap
		for _, pane := range panes {
			bottom += top + len(pane.Lines)*lineHeight + 2*gap
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">`+"\n", right, bottom)
	y := gap
	for i, pane := range panes {
		x := gap + float64(i)*(width+gap)
		if stacked {
			x, height = gap, top+len(pane.Lines)*lineHeight+gap
		}
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="8" fill="#1e2227"/>`+"\n", x, y, width, height)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="#8b949e">%s</text>`+"\n", x+gap, y+18, pane.Title)
		for n, line := range pane.Lines {
			colour := "#c9d1d9"
			if strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "❯ ") || strings.HasPrefix(line, "› ") {
				colour = "#7ee787"
			}
			var text strings.Builder
			xml.EscapeText(&text, []byte(line))
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="%s" xml:space="preserve">%s</text>`+"\n", x+gap, y+top+n*lineHeight, colour, text.String())
		}
		if stacked {
			y += height + gap
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// folded breaks long lines as a terminal does.
func folded(lines []string, columns int) (all []string) {
	for _, line := range lines {
		runes := []rune(line)
		for len(runes) > columns {
			all, runes = append(all, string(runes[:columns])), runes[columns:]
		}
		all = append(all, string(runes))
	}
	return all
}
