package main

import (
	"fmt"
	"slices"
	"strings"

	"c2c/cmd/cli"
	"c2c/sessions"
)

// meantBy has a line for each verb: the verb, and then words that other programs use for it. The
// line with - has words for ending a session, for which there is no verb. No two lines have the
// same word.
const meantBy = `poll-inbox read inbox messages message mail mails check get recv receive fetch new unread wait listen pull next
list ls ps who sessions agents peers users
status show state
history log logs archive sent
send msg to tell write mail-to message-to post say chat talk dm pm ping forward
reply answer respond ack
send-all broadcast all everyone
version -v -V
whoami me name
register rename login join signup
search find grep
start run launch new-session
install setup init configure config
prune rm remove delete del clear clean purge
serve server daemon http
open web page ui browser dashboard
doctor debug diagnose
- stop kill end quit exit logout leave unregister
dead-letter lost`

// noVerb returns an error for a command line that does not begin with a verb. The error's hint says
// what to type instead.
func noVerb(args []string) error {
	name := strings.TrimPrefix(args[0], "@")
	err := fmt.Errorf("%w: no such verb %q", errUsage, args[0])
	at := slices.IndexFunc(args, func(word string) bool { _, known := cli.Find(word); return known })
	_, topic := cli.Topic(name)
	switch verb := cli.MeantBy(meantBy, args[0]); {
	case verb == "-":
		return cli.WithHint(err, "a session ends when its client ends, and its mail waits for it; c2c list shows all sessions")
	case verb != "":
		v, _ := cli.Find(verb)
		return cli.WithHint(err, "use c2c "+verb+": "+v.Short)
	case topic:
		return cli.WithHint(err, "c2c help "+name+" shows that topic")
	case at > 0 && strings.HasPrefix(name, "-"):
		return cli.WithHint(err, "options come after the verb: c2c "+strings.Join(slices.Concat(args[at:at+1], args[:at], args[at+1:]), " "))
	case len(args) > 1 && sessions.CheckAlias(name) == nil && cli.DidYouMean(name, cli.VerbNames()) == "":
		return cli.WithHint(err, "to write to a session: c2c send "+name+" 'text'; c2c help all lists the verbs")
	}
	return likely(err, name, []string{"help"})
}

func noTopic(word string) error {
	err := fmt.Errorf("%w: no verb or topic %q", errUsage, word)
	if verb := cli.MeantBy(meantBy, word); verb > "-" {
		return cli.WithHint(err, "use c2c help "+verb)
	}
	return likely(err, word, cli.TopicNames())
}

// likely adds a hint to an error: the verb or other word that the person may have meant.
func likely(err error, word string, others []string) error {
	hint := cli.DidYouMean(word, slices.Concat(others, cli.VerbNames()))
	if hint != "" {
		hint += " "
	}
	return cli.WithHint(err, hint+"c2c help all lists the verbs")
}
