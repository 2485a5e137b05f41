package main

import (
	"fmt"
	"slices"

	"c2c/broker"
	"c2c/cmd/cli"
)

// help answers c2c help, c2c help <verb> and c2c help <topic>.
func (a *app) help(words []string) error {
	switch {
	case len(words) == 0, words[0] == "help", words[0] == "--help", words[0] == "-h":
		cli.Overview(a.stdout)
		return nil
	case len(words) > 1:
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
	return unknownWord(fmt.Errorf("%w: no verb or topic %q", errUsage, words[0]), words[0], cli.TopicNames())
}

func unknownVerb(name string, more bool) error {
	if verb := cli.Meant(name); verb != "" {
		v, _ := cli.Find(verb)
		return cli.WithHint(fmt.Errorf("%w: no such verb %q", errUsage, name), "use c2c "+verb+": "+v.Short)
	}
	if _, ok := cli.Topic(name); ok {
		return cli.WithHint(fmt.Errorf("%w: no such verb %q", errUsage, name), "c2c help "+name+" shows that topic")
	}
	err := fmt.Errorf("%w: no such verb %q", errUsage, name)
	if more && broker.CheckAlias(name) == nil && cli.DidYouMean(name, cli.VerbNames()) == "" {
		return cli.WithHint(err, "to write to a session: c2c send "+name+" 'text'; c2c help all lists the verbs")
	}
	return unknownWord(err, name, []string{"help"})
}

// unknownWord adds to an error which verb or other word may have been meant.
func unknownWord(err error, word string, others []string) error {
	hint := cli.DidYouMean(word, slices.Concat(cli.VerbNames(), others))
	if hint != "" {
		hint += " "
	}
	return cli.WithHint(err, hint+"c2c help all lists the verbs")
}
