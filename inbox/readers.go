package inbox

// The names of the readers, as leases and the archive have them, and c2c status shows them. A
// method that carries mail is a reader, too; package wake has its name.
const (
	ByHook    = "hook"        // a client's hook. This is also a method of ringing, and tells what a session does
	ByTool    = "poll_inbox"  // the tool poll_inbox
	ByResult  = "tool_result" // the result of any other tool
	ByCommand = "cli_poll"    // c2c poll-inbox
	ByAsk     = "ask"         // c2c ask or the tool ask, which takes its answer out of the mailbox
	ByNotify  = "notify"      // c2c notify --wait
	ByPage    = "page"        // the web page
	ByWatch   = "watch"       // c2c watch
	ByEvents  = "events"      // the event stream of a sender outside c2c: nothing shows whether the sender reads it
	ByRelay   = "relay"       // the relay, from an outbox: what it has read is stored on the other machine
	ByMover   = "broker"      // a process that moves mail to another mailbox
)
