// This part makes the man pages from the table of all verbs.

package main

import (
	"fmt"
	"strings"

	"c2c/broker"
	"c2c/cmd/cli"
)

// manPages returns the man pages by their file names.
func manPages() map[string][]byte {
	render := func(name, short, text string) []byte {
		head := fmt.Sprintf(".nh\n.TH %s 1 \"\" \"c2c %s\" \"c2c\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), broker.Version, name, short)
		return []byte(head + roff(text))
	}
	all := map[string][]byte{"c2c.1": render("c2c", "mail between coding agents", overviewPage(inMan, "c2c-%s(1)"))}
	for _, v := range cli.Verbs() {
		text := inMan("Synopsis") + indented(v.Usage()) + "\n" + inMan("Description") + pageOf(v, inMan) + "\n" + inMan("See also") + "c2c(1)\n"
		all["c2c-"+v.Name+".1"] = render("c2c-"+v.Name, v.Short, text)
	}
	return all
}

func inMan(title string) string { return "# " + strings.ToUpper(title) + "\n\n" }
