package main

import (
	"cmp"
	"context"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// hookTime bounds the time of a hook, so that no tool call hangs because of c2c. After 5 s, the
// hook script would kill c2c.
const hookTime = 4 * time.Second

// answerHook answers an event of a client. If it returns an error, main prints the error, but exits
// with 0: to a client, another status may mean that the tool call is refused.
func answerHook(c *call, f *cli.Flags) action {
	name, edit := f.Text("client"), f.Bool("edit")
	return func(ctx context.Context) error {
		limit, end := within(ctx, hookTime)
		defer end()
		if *edit {
			return c.warnOfClaims(limit, *name)
		}
		return AnswerHook(limit, HookProgram{
			Stdin: c.stdin, Stderr: c.stderr, Getenv: c.getenv, Cwd: c.cwd, Show: c.showHook,
			Open: func(who callers.Caller, cwd string, table sessions.ProcessTable) (*broker.Broker, error) {
				c.cwd = cwd
				return broker.OpenFor(who, cwd, broker.Config{Log: c.log(), Processes: table})
			},
		}, cmp.Or(*name, client.All()[0].Name))
	}
}

// showHook writes the answer of a hook to the stream that the client reads.
func (a *app) showHook(text []byte, onStderr bool) error {
	out := a.stdout.(*answer)
	if onStderr {
		out.to = a.stderr.(*mail.VisibleWriter).W
	}
	out.Write(text)
	return a.flushDurably()
}
