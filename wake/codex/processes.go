package codex

import "time"

// unloadTime is how long Codex keeps a thread after its terminal has ended: a minute and some seconds.
const unloadTime = 75 * time.Second

// openTime is the longest time that a new terminal takes to open the thread in its arguments. To open it, the terminal ends the thread in
// the daemon and begins it again. So a turn that has begun in the daemon just before is lost (0.169.0).
const openTime = 2 * time.Second

// process is one of this user's processes that belongs to Codex.
type process struct {
	pid      int
	threads  map[string]time.Time // the threads that it has open for writing, and since when; a client of the daemon has none
	client   bool                 // it has files open that show a Codex program with our CODEX_HOME: see processOf
	terminal bool                 // it runs on a terminal
	args     []string             // its command line
	began    time.Time            // not its age, which is another one when it is compared with the time at which a thread began
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

// terminals counts the terminals that are clients of the daemon and show a thread. Each terminal shows one thread, except a new terminal in
// which the person still chooses one (`codex resume`, or a question at the start). A terminal older than unloadTime counts always, and a
// new one if its command line names a thread of the daemon. Of the other new terminals, at most as many count as there are fresh threads:
// threads of the daemon that are younger than the oldest of these terminals.
func terminals(all []process, daemon process) (n int) {
	young, fresh, oldest := 0, 0, time.Now().UnixNano()
	for _, p := range all {
		switch {
		case !p.client || !p.terminal || len(p.threads) > 0:
		case time.Since(p.began) > unloadTime || p.namesOneOf(daemon.threads):
			n++
		default:
			young++
			oldest = min(oldest, p.began.UnixNano())
		}
	}
	for _, since := range daemon.threads {
		if since.UnixNano() > oldest {
			fresh++
		}
	}
	return n + min(young, fresh)
}

// justOpened returns a new terminal whose command line names this thread (`codex resume`). Such a terminal shows this thread, even if
// another thread of the daemon has just lost its terminal. A terminal older than unloadTime does not count, because it may show another
// thread by now.
func justOpened(all []process, thread string) (p process, found bool) {
	for _, p := range all {
		if p.client && p.terminal && time.Since(p.began) < unloadTime && p.namesOneOf(map[string]time.Time{thread: {}}) {
			return p, true
		}
	}
	return p, false
}

// namesOneOf reports whether an argument of the process is the id of one of these threads.
func (p process) namesOneOf(threads map[string]time.Time) bool {
	for _, arg := range p.args {
		if _, is := threads[arg]; is {
			return true
		}
	}
	return false
}
