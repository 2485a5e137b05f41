// Package lab drives the real Claude Code and Codex against model servers that live in this process.
//
// A test makes a [Lab] (a scratch home and a scratch project under git), gives each client a [Model]
// (the Messages API and the Responses API on 127.0.0.1, every request recorded, every answer scripted)
// and starts the clients as a person would: one question (claude -p, codex exec) or the full screen on
// a terminal of its own. [Request.Items] says which text the model saw, where, and with which role.
//
// Nothing here may reach a network or touch the person's own clients: [Isolate] moves the whole test
// run into namespaces with a loopback interface alone, a private /tmp (both clients keep sockets
// there) and a process tree of its own, which the kernel ends with the tests. Each test owns its Lab;
// Model and Proc may be used by several goroutines.
package lab
