package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"c2c/client"
	"c2c/internal/proc"
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

// processes returns the processes that have files in home, a CODEX_HOME, open: the locks of
// threads, databases or the lock of a program.
func processes(home string) (all []process) {
	home = resolved(home)
	for _, pid := range proc.All() {
		if p := processOf(pid, home); p.client || len(p.threads) > 0 {
			all = append(all, p)
		}
	}
	return all
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// processOf reads the open files of a process of this user. Each process of Codex keeps a lock
// below tmp open as long as it runs. But it closes a database that it has not used for ten minutes
// (0.169.0). Only files in home count, because c2c later runs the program of the process that has a
// thread's lock file open.
func processOf(pid int, home string) process {
	p := process{pid: pid, threads: map[string]time.Time{}}
	locks := resolved(filepath.Join(home, client.CodexLocks))
	files, _ := proc.Files(pid)
	for f := range files {
		folder, file := filepath.Split(f.Path)
		folder = filepath.Clean(folder)
		switch {
		case folder == locks:
			if thread, ok := strings.CutSuffix(file, ".lock"); ok {
				if info, err := os.Stat(f.Link); err == nil { // an error means that the process has closed the file meanwhile
					p.threads[thread] = info.ModTime()
				}
			}
		case folder == home && strings.HasSuffix(file, ".sqlite"), file == ".lock" && strings.HasPrefix(folder, filepath.Join(home, "tmp")+"/"):
			p.client = true
		case f.FD == 0:
			p.terminal = f.IsTerminal()
		}
	}
	if p.client || len(p.threads) > 0 {
		p.args, p.began = proc.Args(pid), proc.Began(pid)
	}
	return p
}
