package man

import "strings"

// roff makes a man page's text of the Markdown that the pages of the help have: headings, paragraphs, lists, lines that are
// indented by four and stay as they are, words between backquotes, and characters behind a backslash. The library that did
// this had each start of c2cd allocate 214 kB.
func roff(markdown string) string {
	var out strings.Builder
	first, gap, literal := false, false, false // the line before is a heading, or empty; lines stay as they are
	for line := range strings.Lines(markdown) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			gap = true
			continue
		}
		code, indented := strings.CutPrefix(line, "    ")
		if literal && !indented {
			out.WriteString(".EE\n")
		}
		title, heading := strings.CutPrefix(line, "# ")
		item, listed := strings.CutPrefix(line, "- ")
		switch {
		case heading:
			out.WriteString(".SH " + title + "\n")
		case indented && !literal:
			out.WriteString(".EX\n" + roffLine(roffText(code)))
		case indented && gap:
			out.WriteString("\n" + roffLine(roffText(code)))
		case indented:
			out.WriteString(roffLine(roffText(code)))
		case listed:
			out.WriteString(".IP \\(bu 2\n" + roffLine(roffInline(item)))
		case gap && !first:
			out.WriteString(".PP\n" + roffLine(roffInline(line)))
		default:
			out.WriteString(roffLine(roffInline(line)))
		}
		first, gap, literal = heading, false, indented
	}
	if literal {
		out.WriteString(".EE\n")
	}
	return out.String()
}

// roffLine is a line of text: one that begins with a dot or a quote would be a request.
func roffLine(text string) string {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text + "\n"
}

func roffText(text string) string { return strings.ReplaceAll(text, `\`, `\e`) }

// roffInline has what stands between backquotes in bold.
func roffInline(markdown string) string {
	var out strings.Builder
	for i, span := range strings.Split(strings.ReplaceAll(markdown, "\\`", "\x00"), "`") {
		if i%2 == 1 {
			out.WriteString(`\fB` + roffText(span) + `\fR`)
			continue
		}
		for before, after, more := strings.Cut(span, `\`); ; before, after, more = strings.Cut(after, `\`) {
			out.WriteString(before)
			if !more {
				break
			}
			if strings.HasPrefix(after, `\`) {
				out.WriteString(`\e`)
				after = after[1:]
			}
		}
	}
	return strings.ReplaceAll(out.String(), "\x00", "`")
}
