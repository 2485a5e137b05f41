// Package lab drives the real clients against model servers that live in this process.
//
// A test makes a [Lab] (a scratch home and a scratch project under git), gives each client a
// [Model] (the APIs of all vendors on 127.0.0.1, every request recorded, every answer scripted) and
// starts the clients as a person would: with one question (claude -p, codex exec, opencode run) or
// with the full screen on a terminal of its own. [Request.Items] shows which text the model saw,
// where, and with which role.
//
// Each client has a file for its own needs: the configuration that its first start asks for, with
// everything turned off that would use the network, the environment, and the text by which its
// prompt is recognized. The table in programs.go names the places where npm puts the programs.
//
// No test may reach a network or touch the person's own clients: [Isolate] moves the whole test run
// into namespaces with only a loopback interface, a private /tmp (some clients keep sockets there)
// and a process tree of its own, which the kernel ends with the tests. Each test has a Lab of its
// own; several goroutines may use a Model or a Proc.
package lab
