package main

import (
	"errors"
	"fmt"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/cmd/cli"
	"c2c/sessions"
)

// A verb that only reads makes no root. Otherwise, if C2C_MCP_BROKER_ROOT has a mistyped name, c2c
// would make directories with this name, and the answer would look as if the name were right.

// errNoRoot stands for the error of open: the root is missing, and the verb needs it.
var errNoRoot = errors.New("no root")

// emptyAnswer says what a verb that only reads answers if there is no root: the value to print with
// --json, or an error. needsRoot is false for a verb that may make a root.
func (c *call) emptyAnswer(verb string, f *cli.Flags) (answer any, needsRoot bool) {
	switch {
	case verb != "poll-inbox":
	case f.Given("check") && !c.json:
		return errNothing, true
	case f.Given("peek"):
		return []struct{}{}, true
	}
	switch verb {
	case "stats":
		return broker.NoStats(), true
	case "obligations", "list", "history", "search":
		return []struct{}{}, true
	case "status":
		return broker.ErrNoMessage, true
	case "register":
		return nil, false
	case "sweep":
		return moves.Swept{Sessions: []moves.SweptSession{}}, true
	case "prune":
		return moves.Pruned{}, true
	case "project":
		return errNoRoot, len(c.words) == 0
	case "notify", "claim", "allow":
		return errNoRoot, true
	case "resume", "handover":
		return sessions.ErrNoSession, len(c.words) == 2
	}
	return &sessions.UnknownAliasError{Alias: c.session}, c.session != "" // a named session must exist
}

// showEmpty prints on standard error that there is no root. The verb still succeeds, unless the
// argument answer is an error.
func (c *call) showEmpty(missing error, answer any) error {
	if answer == errNothing {
		return errNothing
	}
	if answer == errNoRoot {
		return missing
	}
	if err, failed := answer.(error); failed {
		return fmt.Errorf("%w: %w", err, missing)
	}
	f := cli.FailureOf("", missing).Elsewhere(missing, c.getenv, c.cwd)
	f.Hint += cli.OthersUsed(c.getenv, c.cwd)
	cli.Report(c.stderr, f, nil)
	return c.show(answer, func() {})
}
