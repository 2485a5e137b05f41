package budget

import "testing"

// cost is what one run of a command takes.
type cost struct {
	calls  int // system calls but those for memory, threads and signals
	opens  int
	syncs  int
	faults int // page faults that need no disk, on one thread, beyond those of a program that does nothing
}

// faultsVary is by how many page faults the kernel and the page cache let one program vary.
const faultsVary = 16

// budgets has a row for each command that runs often. A number goes down when the command gets
// leaner. Whoever raises one says in the commit what the user gets for it. Five of the opens are
// those of the Go runtime (cgroup, huge pages).
var budgets = []struct {
	name   string
	args   []string
	before func(t *testing.T, w *world) // what each run finds
	cost
	// grown is how many more calls it takes in a root with much mail and many sessions, and why
	// says what for.
	grown int
	why   string
}{
	{"version", []string{"version"}, nil, cost{21, 5, 0, 94}, 2, ""},
	{"search", []string{"search", "nothing"}, nil, cost{120, 33, 0, 121}, 190, "it reads the archives of all sessions"},
	{"hook, empty", []string{"hook"}, nothingWaits("birch"), cost{69, 19, 0, 123}, 2, ""},
	{"hook, 1 message", []string{"hook"}, oneWaits("birch"), cost{130, 31, 4, 146}, 14, "it looks at the names of an archive of several parts"},
	{"send", []string{"send", "cedar", "hello"}, nil, cost{85, 20, 2, 129}, 2, ""},
	{"send --from", []string{"send", "cedar", "hello", "--from", "birch"}, nil, cost{87, 20, 2, 134}, 2, ""},
	{"send --answer-by", []string{"send", "cedar", "hello", "--answer-by", "10m"}, nil, cost{104, 24, 3, 139}, 3, ""},
	{"poll-inbox, empty", []string{"poll-inbox", "--session-id", "amber"}, nothingWaits("amber"), cost{50, 11, 0, 108}, 2, ""},
	{"poll-inbox, 1 message", []string{"poll-inbox", "--session-id", "amber"}, oneWaits("amber"), cost{111, 23, 4, 122}, 2, ""},
	{"list", []string{"list"}, nil, cost{87, 19, 0, 134}, 850, "each session has a file of its own"},
	{"status", []string{"status", statusID}, nil, cost{112, 33, 0, 157}, 58, "it looks at the times of some numbered files, and into the index of the archive"},
	// From here on the sessions are in a room: three of them, or fifty in a large root.
	{"send to a room", []string{"send", "#review", "hello"}, inRoom, cost{72, 17, 1, 132}, 2, ""},
	{"hook, empty, in a room", []string{"hook"}, inRoom, cost{71, 20, 0, 122}, 2, ""},
}

// Bytes that a model reads. Every session pays the first two, and a turn without news nothing.
const (
	bytesOfTools        = 4_000 // the answer to tools/list and the instructions; c2c install, its help and the README say it
	bytesOfInstructions = 700
	bytesOfMail         = 250 // a short message that a hook brings, with the sentence before it
	bytesOfDigest       = 300 // a digest of five rooms with a short post in each
	bytesOfReceipt      = 120
	bytesOfRooms        = 1_000 // a list of five rooms with 50 members each
)
