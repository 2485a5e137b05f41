package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Width is the greatest width of help, in columns.
const Width = 80

// exits explains the exit status of a verb whose row has no such text.
const exits = "0 done, 1 failed, 2 usage, more: c2c help exit-codes"

// Overview writes the help that fits on a screen: the everyday verbs, and the names of most other
// verbs.
func Overview(w io.Writer) {
	fmt.Fprint(w, "usage: c2c <verb> [options] [words]        mail between coding agents\n\n")
	more := ""
	for _, g := range table {
		title := g.Title
		for _, v := range g.Verbs {
			if !v.Everyday {
				if g.Title != forClients && g.Title != "Keep" { // people seldom type these, and the screen is full
					more += ", " + v.Name
				}
				continue
			}
			fmt.Fprintf(w, "%-9s %-11s %s\n", title, v.Name, v.Short)
			title = ""
		}
	}
	fmt.Fprintf(w, "\nAlso: %s\n", wrap(strings.TrimPrefix(more, ", "), "      "))
	fmt.Fprintf(w, "c2c help <verb> tells more, c2c help all shows all verbs.\nTopics: c2c help %s\n", strings.Join(TopicNames(), " | "))
}

// All writes the help with every verb.
func All(w io.Writer) {
	fmt.Fprint(w, "usage: c2c <verb> [options] [words]        mail between coding agents\n")
	for _, g := range table {
		fmt.Fprintf(w, "\n%s:\n", g.Title)
		for _, v := range g.Verbs {
			fmt.Fprintf(w, "  %-13s %s\n", v.Name, v.Short)
		}
	}
	fmt.Fprint(w, "\nOther words:\n")
	for _, o := range otherWords {
		fmt.Fprintf(w, "  %-13s is %s %s\n", o.word, o.verb, o.with)
	}
}

// wrap breaks a text into lines of at most Width columns, and indents all lines but the first.
func wrap(text, indent string) string {
	out, column := "", len(indent)
	for i, word := range strings.Fields(text) {
		if i > 0 && column+len(word)+1 > Width {
			out, column = out+"\n"+indent, len(indent)
		} else if i > 0 {
			out, column = out+" ", column+1
		}
		out, column = out+word, column+len(word)
	}
	return out
}

// Usage returns the first line of a verb's help.
func (v Verb) Usage() string {
	usage := "c2c " + v.Name
	if len(v.Options) > 0 {
		usage += " [options]"
	}
	return strings.TrimSpace(usage + " " + v.Args)
}

// Help writes a verb's description, options and examples. They fit on a screen of 24 lines.
func (v Verb) Help(w io.Writer) {
	fmt.Fprintf(w, "usage: %s\n\n%s\n%s", v.Usage(), v.Does(), v.Text())
	column := 0
	shown := slices.DeleteFunc(slices.Clone(v.Options), func(o Option) bool { return o.Aside })
	for _, o := range shown {
		column = max(column, len(o.Usage())+4)
	}
	fmt.Fprintln(w)
	if column > 0 {
		fmt.Fprint(w, "options:\n")
	}
	for _, o := range shown {
		fmt.Fprintf(w, "  %-*s%s\n", column-2, o.Usage(), wrap(o.Says(), strings.Repeat(" ", column)))
	}
	fmt.Fprintf(w, "exit status: %s\nexample: %s\n", v.ExitStatus(), strings.Join(v.Shows(), "\n         "))
}

// Shows returns the examples as command lines.
func (v Verb) Shows() (lines []string) {
	for _, e := range v.Examples {
		lines = append(lines, fill(e))
	}
	return lines
}

// Text returns the long description, and the other words for the verb.
func (v Verb) Text() string {
	text := fill(v.Long)
	for _, o := range otherWords {
		if o.verb == v.Name && isOption(o.with) {
			text += fmt.Sprintf("c2c %s is c2c %s %s.\n", o.word, o.verb, o.with)
		}
	}
	return text
}

// ExitStatus returns the text that explains the exit status.
func (v Verb) ExitStatus() string { return cmp.Or(v.Exit, exits) }

// Does returns the short description as a sentence.
func (v Verb) Does() string { return strings.ToUpper(v.Short[:1]) + v.Short[1:] + "." }

// Usage returns an option as a person types it.
func (o Option) Usage() string {
	name := typed(o.Name)
	if o.Also != "" {
		name += ", " + typed(o.Also)
	}
	switch {
	case o.Optional:
		return name + " [" + o.Value + "]"
	case o.Value != "":
		return name + " " + o.Value
	}
	return name
}

// Says returns the description of an option, with its default.
func (o Option) Says() string {
	if o.Default == "" {
		return fill(o.Short)
	}
	return fill(o.Short) + " (default " + o.Default + ")"
}
