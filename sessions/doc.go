// Package sessions knows the sessions of a root: their ids, their aliases, the facts about each, and whether its
// client lives. A session is one conversation with an AI program, and has one mailbox.
//
// On disk, under the root: registry.json, shared with the original c2c, with only the fields of the original; sessions/<sid>.json,
// our own facts about a session; sessions/ids/<client>.<id>, which session a client's own id belongs to; broker.log. A Registry is
// an open root. It may be used by any goroutine, and any number of processes may have the root open.
//
// The package knows nothing about obligations, held mail or moves: packages below broker do that, and call this one.
package sessions
