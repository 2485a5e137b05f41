package budget

import "testing"

// cost is what one run of a command takes.
type cost struct {
	calls  int // system calls but those for memory, threads and signals
	opens  int
	syncs  int
	faults int // page faults that need no disk; they wobble, so a fiftieth more is taken for the same
}

// budgets has a row for each command that runs often. A number goes down when the command gets leaner. Whoever raises
// one says in the commit what the user gets for it.
var budgets = []struct {
	name   string
	args   []string
	before func(t *testing.T, w *world) // what each run finds
	cost
	// grown is how many more calls it takes in a root with much mail and many sessions, and why says what for.
	grown int
	why   string
}{
	{"version", []string{"version"}, nil, cost{22, 5, 0, 250}, 2, ""},
	{"hook, empty", []string{"hook"}, nothingWaits("birch"), cost{126, 22, 0, 306}, 2, ""},
	{"hook, 1 message", []string{"hook"}, oneWaits("birch"), cost{232, 38, 4, 330}, 14, "it looks at the names of an archive of several parts"},
	{"send", []string{"send", "cedar", "hello"}, nil, cost{320, 50, 2, 342}, 3, ""},
	{"send --from", []string{"send", "cedar", "hello", "--from", "birch"}, nil, cost{173, 33, 2, 326}, 3, ""},
	{"send --answer-by", []string{"send", "cedar", "hello", "--answer-by", "10m"}, nil, cost{350, 56, 3, 352}, 3, ""},
	{"poll-inbox, empty", []string{"poll-inbox", "--session-id", "amber"}, nothingWaits("amber"), cost{76, 15, 0, 297}, 2, ""},
	{"poll-inbox, 1 message", []string{"poll-inbox", "--session-id", "amber"}, oneWaits("amber"), cost{181, 31, 4, 313}, 2, ""},
	{"list", []string{"list"}, nil, cost{144, 24, 0, 305}, 1800, "each session has a file of its own"},
	{"status", []string{"status", statusID}, nil, cost{450, 91, 0, 330}, 3400, "it looks for the message in each file of each mailbox"},
}

// Bytes of the programs as the Makefile builds them for amd64, and of the answer to tools/list, which the model of a
// client reads in each session.
const (
	bytesOfC2C   = 4_660_000
	bytesOfC2CD  = 14_880_000
	bytesOfTools = 10_210
)
