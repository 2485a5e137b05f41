package codex

// process is one of this user's processes, as far as it has to do with Codex.
type process struct {
	pid      int
	threads  map[string]bool // that it has open for writing: the daemon, `codex exec`, a terminal without the daemon
	client   bool            // it has the databases of our CODEX_HOME open
	terminal bool            // a person looks at it
	exec     bool            // `codex exec`, which ends with its answer; looked at only in one with threads
}

// writer is the process that has a thread open.
func writer(all []process, thread string) (p process, found bool) {
	for _, p := range all {
		if p.threads[thread] {
			return p, true
		}
	}
	return p, false
}

// terminals counts the terminals that are clients of the daemon. Each shows one thread.
func terminals(all []process) (n int) {
	for _, p := range all {
		if p.client && p.terminal && len(p.threads) == 0 {
			n++
		}
	}
	return n
}
