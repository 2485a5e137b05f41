package codex

import "time"

// unloadTime is how long Codex keeps a thread whose terminal has gone: a minute, and some more.
const unloadTime = 75 * time.Second

// openTime is how long a terminal takes at the most to show the thread that it was told. To do so it ends that thread in the daemon and
// begins it anew, and a turn that has just begun there is lost (0.169.0).
const openTime = 2 * time.Second

// process is one of this user's processes, as far as it has to do with Codex.
type process struct {
	pid      int
	threads  map[string]time.Time // that it has open for writing, since when: the daemon, `codex exec`, a terminal without the daemon
	client   bool                 // it is Codex with our CODEX_HOME, or looks at a database there
	terminal bool                 // a person looks at it
	args     []string             // of its command line
	age      time.Duration
}

// writer is the process that has a thread open.
func writer(all []process, thread string) (p process, found bool) {
	for _, p := range all {
		if _, has := p.threads[thread]; has {
			return p, true
		}
	}
	return p, false
}

// terminals counts the terminals that are clients of the daemon and show a thread. Each shows one, but for a new one
// in which its person still chooses (`codex resume`, or a question at the start). That shows a thread as soon as one
// is loaded, or when it was told which. After unloadTime it shows one of those that are still loaded, if any.
func terminals(all []process, daemon process, now time.Time) (n int) {
	young, fresh, oldest := 0, 0, time.Duration(0)
	for _, p := range all {
		switch {
		case !p.client || !p.terminal || len(p.threads) > 0:
		case p.age > unloadTime || p.namesOneOf(daemon.threads):
			n++
		default:
			young++
			oldest = max(oldest, p.age)
		}
	}
	for _, since := range daemon.threads {
		if now.Sub(since) < oldest {
			fresh++
		}
	}
	return n + min(young, fresh)
}

// justOpened gives the terminal that was started with this thread a moment ago (`codex resume`): it shows that one, also while
// another one of the daemon has lost its terminal. A later one may show another thread by now.
func justOpened(all []process, thread string) (p process, found bool) {
	for _, p := range all {
		if p.client && p.terminal && p.age < unloadTime && p.namesOneOf(map[string]time.Time{thread: {}}) {
			return p, true
		}
	}
	return p, false
}

// namesOneOf says whether the command line of a process names one of these threads.
func (p process) namesOneOf(threads map[string]time.Time) bool {
	for _, arg := range p.args {
		if _, is := threads[arg]; is {
			return true
		}
	}
	return false
}
