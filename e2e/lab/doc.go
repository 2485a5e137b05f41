// Package lab drives the real clients against model servers that live in this process.
//
// A test makes a [Lab] (a scratch home and a scratch project under git), gives each client a [Model]
// (the APIs of all vendors on 127.0.0.1, every request recorded, every answer scripted) and starts the
// clients as a person would: one question (claude -p, codex exec, opencode run) or the full screen on
// a terminal of its own. [Request.Items] says which text the model saw, where, and with which role.
//
// Each client has a file with what only it needs: the configuration that its first start asks for,
// with everything that would use the network switched off, the environment, and the text that shows
// that its prompt is there. The table in programs.go says where npm puts the program.
//
// Nothing here may reach a network or touch the person's own clients: [Isolate] moves the whole test
// run into namespaces with only a loopback interface, a private /tmp (some clients keep sockets
// there) and a process tree of its own, which the kernel ends with the tests. Each test owns its Lab;
// several goroutines may use a Model or a Proc.
package lab
