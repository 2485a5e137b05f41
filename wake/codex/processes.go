package codex

import (
	"slices"
	"time"

	"c2c/client"
)

// unloadTime is how long Codex keeps a thread after its terminal has ended: a minute and some
// seconds.
const unloadTime = 75 * time.Second

// ownTime is longer than a new terminal takes to open the thread that c2c start has begun for it.
const ownTime = 10 * time.Second

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

// shown returns client.Idle if a terminal may show the thread, client.Waiting if its terminal has
// yet to open it, and client.Away if no terminal shows it.
//
// The app-server does not report which thread a terminal shows, and keeps a thread for a minute
// after its terminal has ended. But a terminal that opens a thread ends it in the app-server and
// begins it again, with a new lock file. So a young terminal has opened no thread whose lock file
// is older than itself. If its command line names such a thread, it may still ask its person to
// trust the folder or the hooks: a turn would run behind that question, and would be lost when the
// terminal opens the thread.
//
// If it is not known which of two threads a terminal shows, it counts for both: mail for a thread
// that is shown must not wait for the end of another. Only for a thread of c2c start it is known:
// the terminal that names it, until somebody opens it again later.
func (s *Server) shown(all []process) string {
	writer, found := writer(all, s.Thread)
	if !found {
		return client.Away
	}
	since, word := writer.threads[s.Thread], client.Away
	own := since.Sub(time.Unix(s.born.Load(), 0)) < ownTime
	for _, p := range all {
		opened := !since.Before(p.began) || time.Since(p.began) > unloadTime
		switch {
		case !p.client || !p.terminal || len(p.threads) > 0:
		case slices.Contains(p.args, s.Thread) && opened:
			return client.Idle
		case slices.Contains(p.args, s.Thread):
			word = client.Waiting
		case opened && !own && word == client.Away:
			word = client.Idle
		}
	}
	return word
}
