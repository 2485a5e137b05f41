package codex

import "time"

// unloadTime is how long Codex keeps a thread after its terminal has ended: a minute and some seconds.
const unloadTime = 75 * time.Second

// openTime is the longest time that a terminal takes to open the thread in its arguments. The terminal then ends that thread
// in the daemon and begins it again, so a turn that began in the daemon just before is lost (0.169.0).
const openTime = 2 * time.Second

// process is one of this user's processes that belongs to Codex.
type process struct {
	pid      int
	threads  map[string]time.Time // the threads that it has open for writing, with the time of opening; the daemon, `codex exec` and a terminal without daemon have such threads
	client   bool                 // it is a Codex program with our CODEX_HOME, or has a database there open
	terminal bool                 // it runs on a terminal
	args     []string             // its command line
	age      time.Duration
}

// writer returns the process that has a thread open for writing.
func writer(all []process, thread string) (p process, found bool) {
	for _, p := range all {
		if _, has := p.threads[thread]; has {
			return p, true
		}
	}
	return p, false
}

// terminals counts the terminals that are clients of the daemon and show a thread. Each terminal shows one thread, except a
// new terminal in which the person still chooses (`codex resume`, or a question at the start). A new terminal counts if its
// command line names a thread, or if a new thread is loaded. A terminal older than unloadTime always counts.
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

// justOpened returns a new terminal whose command line names this thread (`codex resume`). Such a terminal shows the thread,
// even if another thread of the daemon has just lost its terminal. An older terminal may show another thread by now.
func justOpened(all []process, thread string) (p process, found bool) {
	for _, p := range all {
		if p.client && p.terminal && p.age < unloadTime && p.namesOneOf(map[string]time.Time{thread: {}}) {
			return p, true
		}
	}
	return p, false
}

// namesOneOf reports whether the command line of a process names one of these threads.
func (p process) namesOneOf(threads map[string]time.Time) bool {
	for _, arg := range p.args {
		if _, is := threads[arg]; is {
			return true
		}
	}
	return false
}
