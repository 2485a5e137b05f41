package sessions

import (
	"c2c/client"
	"c2c/format"
)

// State is what we know about a session's client.
type State string

// States. Person is somebody at a terminal; a person has no process. Unknown is a session without
// a known process, or with one that cannot be seen from here: it may be alive, so it gets mail, and nobody may take its alias or
// its mail.
const (
	Alive   State = "alive"
	Absent  State = "absent"
	Person  State = "person"
	Unknown State = "unknown"
)

// External is the state of a session that stands for an external sender: a program or a person that is no session of this
// machine and writes over HTTP. Its mailbox holds the answers to it, and nobody here can act as it.
const External State = "external"

// Remote is the state of a session on another machine. What waits for it here waits in the outbox for that machine.
const Remote State = "remote"

// What a session does now. Those of State that say no more (Absent, Person, External, Remote, Unknown) are such words, too, and Alive is
// a session whose client lives, and nothing tells whether a turn runs.
const (
	Busy    State = client.Busy
	Idle    State = client.Idle
	Waiting State = client.Waiting
	Away    State = "away" // its client lives, and shows it in no terminal
)

// How it is known what a session does.
const (
	ByProcess = "process" // its process, or that of its server, runs or has ended
	ByRecord  = "record"  // a file that its client writes
	ByRing    = "ring"    // the last ring found it so, or has begun a turn
)

// ByHook names a client's hook as a reader and as a method.
const ByHook = "hook"

// turnWords are the words for what a session does that its facts have.
var turnWords = format.Pairs{{string(Busy), "runs"}, {string(Idle), "over"}, {string(Waiting), "asks"}}

func turnOf(word string) State {
	for _, row := range turnWords {
		if row[1] == word {
			return State(row[0])
		}
	}
	return ""
}
