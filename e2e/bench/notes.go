package main

import "fmt"

// notes tells why some rows are above their aim.
func notes() {
	fmt.Print(`
## Rows above their aim

- c2c hook: a Go program that only imports ` + "`os`" + ` takes 1.17 times an empty one here, with ` + "`fmt` and `encoding/json`" + ` 1.23:
  each page that is touched for the first time costs 1.5 µs, and a hook touches 125 more than an empty program. Fewer
  imports (no crypto, no slog, no os/exec), a stack that grows once, no timer and no poller were tried: 0 to 4 % each. The
  hook script, which is what a client runs, starts no hook for an empty mailbox.
- c2c list: every session has a file of facts, which is opened, and a process, which is looked up: 10 µs each. A registry
  of c2c's own has some 400 sessions at most.
- 32 x c2c send: they combine their commits into 6 to 13. What is left is their start and the look into the registry:
  with the commit switched off they took 1.4 to 1.6 times the limit.
- Ring: after the event the mailbox is locked and its oldest messages are read, which the raw read does not do.
- poll_inbox, empty: it finds out who calls, looks into the mailbox and writes a line into broker.log, 0.05 ms together.
`)
}
