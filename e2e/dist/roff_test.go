package main

import "testing"

func TestMarkdownBecomesAManPage(t *testing.T) {
	const markdown = "# NAME\n\nc2c \\<word>, `a\\b` and \\`\n.dot\n\nnext \\\\ \\*all\\*\n\n" +
		"# OPTIONS\n\n- `--json`: print `it`\n- 'quoted\n\nbehind\n\n    code \\n\n\n    .more\n\nend\n\n    last\n"
	const want = ".SH NAME\nc2c <word>, \\fBa\\eb\\fR and `\n\\&.dot\n.PP\nnext \\e *all*\n" +
		".SH OPTIONS\n.IP \\(bu 2\n\\fB--json\\fR: print \\fBit\\fR\n.IP \\(bu 2\n\\&'quoted\n.PP\nbehind\n" +
		".EX\ncode \\en\n\n\\&.more\n.EE\n.PP\nend\n.EX\nlast\n.EE\n"
	if got := roff(markdown); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
