package main

import (
	"fmt"
	"slices"
	"strings"

	"c2c/cmd/cli"
)

// help answers c2c help, c2c help <verb> and c2c help <topic>.
func (a *app) help(words []string) error {
	if as := cli.Spelled(words); len(as) > len(words) && strings.HasPrefix(as[1], "-") {
		words = as[:1]
	} else {
		words = as
	}
	switch {
	case len(words) == 0, words[0] == "help", words[0] == "--help", words[0] == "-h":
		cli.Overview(a.stdout)
		return nil
	case len(words) > 1:
		if v, ok := cli.Find(words[0]); ok && len(words) == 2 {
			if own, left := v.Of(words[1:]); len(left) == 0 || slices.Contains(strings.Fields(own.First), left[0]) {
				own.Help(a.stdout)
				return nil
			}
		}
		return cli.WithHint(fmt.Errorf("%w: one verb or topic at most", errUsage), "c2c help all lists the verbs")
	case words[0] == "all":
		cli.All(a.stdout)
		return nil
	}
	if v, ok := cli.Find(words[0]); ok {
		v.Help(a.stdout)
		return nil
	}
	if text, ok := cli.Topic(words[0]); ok {
		fmt.Fprint(a.stdout, text)
		return nil
	}
	return noTopic(words[0])
}
