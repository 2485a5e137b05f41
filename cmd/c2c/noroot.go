package main

import (
	"fmt"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/internal/proc"
	"c2c/sessions"
)

// A verb that only reads makes no root. Otherwise, if C2C_MCP_BROKER_ROOT has a mistyped name, c2c would make directories with this
// name, and the answer would look as if the name were right.

// emptyAnswer says what a verb that only reads answers if there is no root: the value to print with --json, or an error. needsRoot is false
// for a verb that may make a root.
func (c *call) emptyAnswer(verb string, f *cli.Flags) (answer any, needsRoot bool) {
	switch {
	case verb != "poll-inbox":
	case f.Given("check") && !c.json:
		return errNothing, true
	case f.Given("peek"):
		verb = "peek-inbox"
	}
	switch verb {
	case "list", "history", "outbox", "search", "peek-inbox", "dead-letter", "obligations":
		return []struct{}{}, true
	case "status", "thread":
		return broker.ErrNoMessage, true
	case "register":
		return nil, false
	case "resume":
		return sessions.ErrNoSession, len(c.words) == 2
	}
	return &sessions.UnknownAliasError{Alias: c.session}, c.session != "" // a named session must exist
}

// showEmpty prints on standard error that there is no root. The verb still succeeds, unless the argument answer is an error.
func (c *call) showEmpty(missing error, answer any) error {
	if answer == errNothing {
		return errNothing
	}
	if err, failed := answer.(error); failed {
		return fmt.Errorf("%w: %w", err, missing)
	}
	cli.Report(c.stderr, cli.FailureOf("", missing).Elsewhere(missing, c.elsewhere), nil)
	return c.show(answer, func() {})
}

// elsewhere asks c2cd where something is that was not found. An error of c2cd is no error of the verb.
func (a *app) elsewhere(alias string) (where string) {
	if c2cd, err := findC2cd(); err == nil {
		where, _ = proc.Run(c2cd, a.cwd, nil, cli.ElsewhereVerb, alias)
	}
	return where
}
