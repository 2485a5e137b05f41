package broker

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

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Who waits for an answer has a file in asking/, below the root:
//
//	asking/<id of the question>   the sessions of who asks and who is asked, and the alias of this one, a line each; and, without the
//	                              end of a line, which older versions would not take, until when it waits, in Unix seconds
//
// Whoever waits has the file locked. So the wait ends with its process, and not with a word that somebody would have to
// take back. A process that is stopped keeps its lock: so nobody heeds a wait whose time is over. The files of those that were killed are removed by the next one who asks.
const (
	askingDir  = "asking"
	askingLock = "lock" // held while somebody looks who waits for whom and begins to wait

	// waitGrace is how much longer a wait is heeded than it may last: whoever waits takes the answer of the last moment.
	waitGrace = 10 * time.Second
)

// wait is one who waits for an answer.
type wait struct {
	question    string // its id; until it is sent another one
	asks, asked string // sessions
	alias       string // of the one who is asked
}

// CircleError says that who is asked waits for the one who asks, directly or through others.
type CircleError struct {
	Asked    string   // alias
	Through  []string // aliases of the others in between
	Question string   // what the one who asks is to answer first: an id
}

func (e *CircleError) Error() string {
	chain := e.Asked + " waits for "
	for _, alias := range e.Through {
		chain += alias + ", which waits for "
	}
	return fmt.Sprintf("%syour answer to %s, so both would wait for each other: answer that first, or send this and go on",
		chain, inbox.ShortID(e.Question))
}

// subIfThere opens a directory below the root; nil when there is none.
func (b *Broker) subIfThere(name string) (*atomicfile.Dir, error) {
	dir, err := b.root.Sub(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

// awaits says whether a session waits for an answer of its sender to the question that a message answers.
func (b *Broker) awaits(sid string, m inbox.Message) bool {
	if m.Kind == kindSystem || !inbox.IsUUID(m.InReplyTo) {
		return false
	}
	dir, err := b.subIfThere(askingDir)
	if err != nil || dir == nil {
		return false
	}
	defer dir.Close()
	w, ok := readWait(dir, m.InReplyTo, b.now())
	return ok && w.asks == sid && b.isOf(w.asked, w.alias, m)
}

// isOf says whether a message was written by a session, or by the one that goes on with its work under its alias.
func (b *Broker) isOf(sid, alias string, m inbox.Message) bool {
	rows, err := b.readRegistry()
	if err != nil {
		return false
	}
	authors := b.authors(rows)
	r := authors.of(m)
	return r != nil && (r.sid() == sid || authors.follows(r, sid, alias))
}

// readWait reads the file of one who waits. ok is false when that one has ended, or waits longer than it may.
func readWait(dir *atomicfile.Dir, name string, now time.Time) (w wait, ok bool) {
	f, err := dir.Open(name, os.O_RDONLY)
	if err != nil {
		return w, false
	}
	defer f.Close()
	if free, err := filelock.FreeFile(f); err != nil || free {
		return w, false
	}
	data := make([]byte, 512) // three names are shorter
	n, _ := f.ReadAt(data, 0)
	lines := bytes.Split(data[:n], []byte("\n"))
	if len(lines) != 4 {
		return w, false
	}
	until, err := strconv.ParseInt(string(lines[3]), 10, 64)
	if err == nil && until > 0 && now.Add(-waitGrace).Unix() >= until {
		return w, false
	}
	return wait{name, string(lines[0]), string(lines[1]), string(lines[2])}, true
}

// asking is the file of this process, locked.
type asking struct {
	dir  *atomicfile.Dir
	name string
	file *os.File
}

// startWait begins to wait, unless the other one waits for this one.
func (b *Broker) startWait(ctx context.Context, rows []row, w wait) (a *asking, err error) {
	dir, err := b.root.Sub(askingDir, true)
	if err != nil {
		return nil, err
	}
	err = filelock.With(ctx, dir, askingLock, func() error {
		waits, err := waitsIn(dir, b.now())
		if err == nil {
			err = checkCircle(rows, waits, w.asks, w.asked)
		}
		if err != nil {
			return err
		}
		a = &asking{dir: dir, name: inbox.NewID(b.now())}
		if a.file, err = dir.Open(a.name, os.O_RDWR|os.O_CREATE|os.O_EXCL); err != nil {
			return err
		}
		if _, err = filelock.TryFile(a.file); err == nil {
			_, err = a.file.WriteString(w.asks + "\n" + w.asked + "\n" + w.alias + "\n")
		}
		return err
	})
	if err == nil {
		return a, nil
	}
	if a != nil && a.file != nil {
		return nil, errors.Join(err, a.end())
	}
	return nil, errors.Join(err, dir.Close())
}

// waitsIn lists who waits, and removes what those have left that were killed. The caller holds the lock.
func waitsIn(dir *atomicfile.Dir, now time.Time) (waits []wait, err error) {
	names, err := dir.Names()
	for _, name := range names {
		if name == askingLock {
			continue
		}
		if w, ok := readWait(dir, name, now); ok {
			waits = append(waits, w)
		} else if info, err := dir.Stat(name); err == nil && info.Mode().IsRegular() {
			dir.Remove(name) // when it fails, the next one tries again
		}
	}
	return waits, err
}

// checkCircle refuses to wait for one who waits, perhaps through others, for the one who asks.
func checkCircle(rows []row, waits []wait, asks, asked string) error {
	alias := func(sid string) string {
		if i := findSID(rows, sid); i >= 0 {
			return rows[i].alias()
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
			if w.asks != at.sid {
				continue
			}
			if w.asked == asks {
				return &CircleError{alias(asked), at.through, w.question}
			}
			if !slices.Contains(seen, w.asked) {
				seen = append(seen, w.asked)
				next = append(next, step{w.asked, append(slices.Clone(at.through), alias(w.asked))})
			}
		}
	}
	return nil
}

// begins says which question it waits for, and until when.
func (a *asking) begins(question string, until time.Time) error {
	if _, err := a.file.WriteString(strconv.FormatInt(until.Unix()+1, 10)); err != nil {
		return err
	}
	err := a.dir.Rename(a.name, question)
	if err == nil {
		a.name = question
	}
	return err
}

// end ends the wait. Its file is gone when that lasted too long.
func (a *asking) end() error {
	err := a.dir.Remove(a.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, a.file.Close(), a.dir.Close())
}
