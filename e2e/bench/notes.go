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
- Ring: after the event the mailbox is locked and its oldest messages are read, which the raw read does not do.
- poll_inbox, empty: it finds out who calls, looks into the mailbox and writes a line into broker.log, 0.05 ms together.
`)
}

// rivals prints what other programs of the kind took. They were measured on the same kind of machine, on
// another day and with a harness that adds about 1 ms to each process, so they are not in the table above.
func rivals() {
	fmt.Print(`
## Others

Medians in ms, measured on the same kind of machine on 2026-11-21, bodies of 210 bytes, not in the run above:
a Go program with one durable replace took 3.1 to 3.2 there, ` + "`sh -c :`" + ` 1.1 to 1.3.

| what | AMQ 0.68.0 | agmsg 7b68947 | claude-peers 640183f | ACC 6c4c19d |
|---|---:|---:|---:|---:|
| send | 11.2 to 11.4 | 12.0 to 13.3 | 10.5 to 10.8 | 430 to 442 |
| 8 senders at once to one mailbox, messages/s | 171 to 193 | 50 to 79, 60 to 64 % refused | 173 to 228 | 4.9 to 5.3, 7 to 11 % refused |
| read of 1 | 8.1 | 14.6 | 9.7 | 575 |
| read of 1,000 | 1,382 | 62 | 312 | 117 waiting: 15,600, shows 0 |
| hook, nothing waits | 92 (Stop) | 56 to 65 (Stop) | none | 160 to 179 |
| idle Claude Code is rung | 883 | never | 385 | never |
| idle Codex is rung | 893 | never | | never |
`)
}
