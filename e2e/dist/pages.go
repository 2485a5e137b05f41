// This part writes the table of all verbs as pages in Markdown: for docs/commands, and for the man
// pages.

package main

import (
	"cmp"
	"fmt"
	"strings"

	"c2c/cmd/cli"
)

// overviewPage returns a page with all verbs, and with the topics of the help. The argument link is
// the format of the link for a verb.
func overviewPage(heading func(string) string, link string) string {
	var out strings.Builder
	for _, g := range cli.Groups() {
		out.WriteString(heading(g.Title))
		for _, v := range g.Verbs {
			fmt.Fprintf(&out, "- "+link+": %s\n", v.Name, v.Short)
		}
		out.WriteString("\n")
	}
	for _, name := range cli.TopicNames() {
		text, _ := cli.Topic(name)
		out.WriteString(heading("c2c help "+name) + indented(text) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// pageOf returns the text about a verb.
func pageOf(v cli.Verb, heading func(string) string) string {
	out := partOf(v, heading)
	for _, own := range v.Verbs {
		out += "\n" + heading("c2c "+own.Name) + indented(own.Usage()) + "\n" + partOf(own, func(string) string { return "" })
	}
	return out
}

func partOf(v cli.Verb, heading func(string) string) string {
	out := v.Does() + "\n\n" + paragraphs(v.Text())
	if len(v.Options) > 0 {
		out += heading("Options")
		for _, o := range v.Options {
			out += "- `" + o.Usage() + "`: " + escaped(o.Says()) + "\n"
		}
		out += "\n"
	}
	if exit := heading("Exit status"); exit != "" || v.Exit != "" { // a verb below another verb has no headings, and seldom an exit status
		out += cmp.Or(exit, "Exit status: ") + v.ExitStatus() + "\n\n"
	}
	return out + heading("Examples") + indented(strings.Join(v.Shows(), "\n"))
}

// paragraphs turns a text of the help into Markdown. It indents indented lines further, so that
// Markdown shows them as they are.
func paragraphs(text string) (out string) {
	if text == "" {
		return ""
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			out += "  " + line
		} else {
			out += escaped(line)
		}
	}
	return out + "\n"
}

// escaped escapes a text so that Markdown shows it unchanged.
func escaped(text string) string {
	return strings.NewReplacer("<", `\<`, "*", `\*`, "`", "\\`").Replace(text)
}

// indented indents the lines of a text, so that Markdown shows them as they are.
func indented(text string) (out string) {
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		if line != "\n" {
			line = "    " + line
		}
		out += line
	}
	return out
}
