package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// A session that waits for an answer has a file in asking/, below the root:
//
//	asking/<id of the question>   three lines: the session that asks, the asked session, and its alias. Then
//	                              comes the end of the wait in Unix seconds, without a newline
//
// The waiting process holds a lock on the file. So the wait ends with the process, even if the file
// stays. A suspended process keeps its lock; therefore other processes ignore a wait whose time is
// over. The next process that asks removes the files of killed processes.
const (
	AskingDir  = "asking"
	askingLock = "lock" // held from the check for a circle until the new wait is recorded

	// waitGrace is added to the end of a wait, so that the waiting process can still take an answer
	// that comes at the last moment.
	waitGrace = 10 * time.Second
)

// Wait is one wait of a session for an answer.
type Wait struct {
	question    string // the id of the question; "" before it is sent
	Asks, Asked string // the ids of the session that asks, and of the asked session
	Alias       string // the alias of the asked session
}

// CircleError says that the asked session waits for the asking session, directly or through others.
type CircleError struct {
	Asked    string   // alias of the asked session
	Through  []string // aliases of the sessions in between
	Question string   // id of the message that the asker must answer first; "" if that is being sent now
}

func (e *CircleError) Error() string {
	chain := e.Asked + " waits for "
	for _, alias := range e.Through {
		chain += alias + ", which waits for "
	}
	question := "a question that it sends you now"
	if e.Question != "" {
		question = mail.ShortID(e.Question)
	}
	return fmt.Sprintf("%syour answer to %s, so both would wait for each other: answer that first, or send your message without waiting",
		chain, question)
}

// awaits reports whether the session sid waits for the message m: m answers the question of sid,
// and comes from the session that sid has asked.
func awaits(reg *Registry, sid string, m mail.Message) bool {
	if m.Kind == mail.KindSystem || !mail.IsUUID(m.InReplyTo) {
		return false
	}
	dir, err := reg.SubIfThere(AskingDir)
	if err != nil || dir == nil {
		return false
	}
	defer dir.Close()
	w, ok := readWait(dir, m.InReplyTo, reg.Now())
	if !ok || w.Asks != sid {
		return false
	}
	rows, err := reg.ReadRegistry()
	return err == nil && reg.Authors(rows).IsReply(w.Asked, w.Alias, m)
}

// readWait reads the file of a wait. ok is false if the waiting process has ended, or if the time
// of the wait is over.
func readWait(dir *atomicfile.Dir, name string, now time.Time) (w Wait, ok bool) {
	f, err := dir.OpenHandle(name, os.O_RDONLY)
	if err != nil {
		return w, false
	}
	defer f.Close()
	if free, err := atomicfile.FreeFile(f); err != nil || free {
		return w, false
	}
	data := make([]byte, 512) // more than the file can have
	n, _ := f.ReadAt(data, 0)
	lines := bytes.Split(data[:n], []byte("\n"))
	if len(lines) != 4 {
		return w, false
	}
	until, err := strconv.ParseInt(string(lines[3]), 10, 64)
	if err == nil && until > 0 && now.Add(-waitGrace).Unix() >= until {
		return w, false
	}
	if until == 0 { // Begins may not have renamed the file yet
		name = ""
	}
	return Wait{name, string(lines[0]), string(lines[1]), string(lines[2])}, true
}

// Asking is a wait of this process itself, with its locked file.
type Asking struct {
	dir  *atomicfile.Dir
	name string
	File *atomicfile.Handle
}

// StartWait begins a wait. If the asked session already waits for the asking session, it returns a
// *CircleError.
func StartWait(ctx context.Context, reg *Registry, rows []Row, w Wait) (a *Asking, err error) {
	dir, err := reg.Dir().Sub(AskingDir, true)
	if err != nil {
		return nil, err
	}
	err = atomicfile.WithLock(ctx, dir, askingLock, func() error {
		waits, err := waitsIn(dir, reg.Now())
		if err == nil {
			err = checkCircle(rows, waits, w.Asks, w.Asked)
		}
		if err != nil {
			return err
		}
		a = &Asking{dir: dir, name: mail.NewID(reg.Now())}
		if a.File, err = dir.OpenHandle(a.name, os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
			return err
		}
		if _, err = atomicfile.TryFile(a.File); err == nil {
			_, err = fmt.Fprintf(a.File, "%s\n%s\n%s\n", w.Asks, w.Asked, w.Alias)
		}
		return err
	})
	if err == nil {
		return a, nil
	}
	if a != nil && a.File != nil {
		return nil, errors.Join(err, a.End())
	}
	return nil, errors.Join(err, dir.Close())
}

// waitsIn lists the current waits, and removes the files of killed processes. The caller holds
// askingLock.
func waitsIn(dir *atomicfile.Dir, now time.Time) (waits []Wait, err error) {
	names, err := dir.Names()
	for _, name := range names {
		if name == askingLock {
			continue
		}
		if w, ok := readWait(dir, name, now); ok {
			waits = append(waits, w)
		} else if info, err := dir.Stat(name); err == nil && info.Mode().IsRegular() {
			dir.Remove(name) // if this fails, the next process tries again
		}
	}
	return waits, err
}

// checkCircle returns a *CircleError if a question would cause a deadlock: the session with the id
// asked already waits for the one with the id asks, directly or through others.
func checkCircle(rows []Row, waits []Wait, asks, asked string) error {
	alias := func(sid string) string {
		if i := FindSID(rows, sid); i >= 0 {
			return rows[i].Alias()
		}
		return sid
	}
	type step struct {
		sid     string
		through []string
	}
	seen := []string{asked}
	for next := []step{{sid: asked}}; len(next) > 0; next = next[1:] {
		at := next[0]
		for _, w := range waits {
			if w.Asks != at.sid {
				continue
			}
			if w.Asked == asks {
				return &CircleError{alias(asked), at.through, w.question}
			}
			if !slices.Contains(seen, w.Asked) {
				seen = append(seen, w.Asked)
				next = append(next, step{w.Asked, append(slices.Clone(at.through), alias(w.Asked))})
			}
		}
	}
	return nil
}

// Begins records the id of the question, and the time until which the session waits for its answer.
func (a *Asking) Begins(question string, until time.Time) error {
	if err := a.dir.Rename(a.name, question); err != nil {
		return err
	}
	a.name = question
	_, err := fmt.Fprint(a.File, until.Unix()+1)
	return err
}

// End ends the wait. If the time of the wait is over, another process may already have removed the
// file.
func (a *Asking) End() error {
	err := a.dir.Remove(a.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, a.File.Close(), a.dir.Close())
}
