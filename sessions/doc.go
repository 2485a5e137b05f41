// Package sessions keeps the list of the AI sessions of one project: their ids, their aliases and
// other facts, and whether their AI programs still run. A session is one conversation with an AI
// program, which is the client of the session. A session has one mailbox. To ring a session is to
// wake its client because mail waits; a ringer is a process that does this. A root is the directory
// with the mail of one project. A Registry is an open root. Any goroutine may use it, and any
// number of processes may have the same root open.
//
// A root has these files: registry.json, the index of sessions by alias and by process, in the
// format that docs/compatibility.md describes; sessions/<sid>.json, all else about a session, its
// facts; sessions/ids/<client>.<id>, the session to which a client's own id belongs; <sid>.work and
// <sid>.answered, when a session worked and answered; broker.log.
//
// The package knows nothing about owed answers, about held mail, or about mail that moves to
// another mailbox. The packages in the folder broker do that work, and call this package.
package sessions
