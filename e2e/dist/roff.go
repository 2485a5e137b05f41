package main

import "strings"

// roff converts the Markdown of the help's pages to a man page. It knows headings, paragraphs,
// lists, literal lines (indented by four), words between backquotes, and characters after a
// backslash. There is a library for that, but with it each start of c2cd allocated 214 kB more.
func roff(markdown string) string {
	var out strings.Builder
	afterHeading, gap, literal := false, false, false // whether the last line was a heading, was followed by an empty line, was literal
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
		case gap && !afterHeading:
			out.WriteString(".PP\n" + roffLine(roffInline(line)))
		default:
			out.WriteString(roffLine(roffInline(line)))
		}
		afterHeading, gap, literal = heading, false, indented
	}
	if literal {
		out.WriteString(".EE\n")
	}
	return out.String()
}

// roffLine returns a line of text for a man page. It puts \& before a dot or a quote at the
// beginning, which would make the line a request.
func roffLine(text string) string {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text + "\n"
}

func roffText(text string) string { return strings.ReplaceAll(text, `\`, `\e`) }

// roffInline makes text between backquotes bold.
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
