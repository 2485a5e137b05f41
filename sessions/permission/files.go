package permission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// files is the open directory of the requests. The method change passes it to a function while the
// lock is held.
type files struct {
	*Store
	dir   *atomicfile.Dir
	lines []line // lines of the audit that the method change has not passed to the log yet
	given []line // the verdicts in the audit, see forged
}

// open opens the directory. If the directory does not exist and create is false, it returns nil.
func (s *Store) open(create bool) (*files, error) {
	dir, err := s.root.Sub(dirName, create)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &files{Store: s, dir: dir}, nil
}

func (s *Store) change(ctx context.Context, do func(*files) error) error {
	d, err := s.open(true)
	if err != nil {
		return err
	}
	defer d.dir.Close()
	ctx, cancel := context.WithTimeout(ctx, s.wait) // a suspended process may hold the lock
	defer cancel()
	err = atomicfile.WithLock(ctx, d.dir, lockFile, func() error { return do(d) })
	for _, l := range d.lines {
		// Pass the lines on after the lock is released, because a log may have its own lock. Ignore
		// an error of the log: the audit already has the line.
		_ = s.log(ctx, "permission", l.pairs()...)
	}
	return err
}

// LockPath returns the path of the lock file. Each change closes this file, so a file watcher
// notices the change. LockPath makes the file if it is missing. Later calls do not close it, so a
// watcher that calls LockPath does not wake itself.
func (s *Store) LockPath() string {
	if d, err := s.open(true); err == nil {
		defer d.dir.Close()
		if _, err := d.dir.Stat(lockFile); err != nil {
			if lock, err := atomicfile.OpenLocked(d.dir, lockFile); err == nil {
				lock.Release()
			}
		}
	}
	return filepath.Join(s.root.Path(), dirName, lockFile)
}

const ending = ".json"

func fileOf(session, id string) string { return id + "." + session }

// ofFile parses the name of a request's file.
func ofFile(name string) (id, session string, ok bool) {
	name, ok = strings.CutSuffix(name, ending)
	id, session, found := strings.Cut(name, ".")
	return id, session, ok && found && isID(id) && mail.ValidName(session)
}

// list reads the requests, and skips damaged files.
func (d *files) list(ctx context.Context) (all []Request, err error) {
	names, err := d.dir.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, session, ok := ofFile(name)
		if !ok {
			continue
		}
		if r, ok := d.read(name); ok && r.ID == id && r.Session == session {
			all = append(all, r)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return cmp.Or(cmp.Compare(a.AskedAt, b.AskedAt), strings.Compare(fileOf(a.Session, a.ID), fileOf(b.Session, b.ID))) < 0
	})
	return all, nil
}

func (d *files) read(name string) (r Request, ok bool) {
	data, err := d.dir.ReadMost(name, maxFile)
	if err != nil || json.Unmarshal(data, &r) != nil || check(r) != nil || !r.State.known() {
		return r, false
	}
	return r.shown(), true
}

func (s State) known() bool {
	return slices.Contains([]State{StateOpen, StateAllowed, StateDenied, StateTerminal, StateExpired, StateGone, StateForged}, s)
}

// current returns a request with its present state. The file may not yet show that the request has
// expired or is forged, or that its server has ended.
func (d *files) current(r Request) Request {
	if r.decided() && d.forged(r) {
		r.State, r.At = StateForged, mail.Seconds(d.now())
	}
	if r.State != StateOpen {
		return r
	}
	switch {
	case !d.attended(fileOf(r.Session, r.ID)):
		r.State, r.At = StateGone, mail.Seconds(d.now())
	case r.ExpiresAt <= mail.Seconds(d.now()):
		r.State, r.At = StateExpired, r.ExpiresAt
	}
	return r
}

// attended reports whether the asking server still holds the lock of its request.
func (d *files) attended(file string) bool {
	held, err := d.dir.IsHeld(file + ".lock")
	return held || err != nil // an error proves nothing, so assume that a verdict may still reach the client
}

// tidy records which requests have ended without a verdict. It removes ended requests that are old
// or too many, and returns the other requests.
func (d *files) tidy(ctx context.Context) ([]Request, error) {
	all, err := d.list(ctx)
	if err != nil {
		return nil, err
	}
	old := mail.Seconds(d.now().Add(-kept))
	over := len(all) - countOf(all, "")
	left := make([]Request, 0, len(all))
	for _, r := range all {
		now := d.current(r)
		if now.State != r.State {
			if err := d.record(now, "", string(now.State)); err != nil {
				return nil, err
			}
		}
		if r.State != StateOpen && (now.At < old || over > maxOver) {
			over--
			file := fileOf(r.Session, r.ID)
			if err := cmp.Or(atomicfile.UnlessAbsent(d.dir.Remove(file+".lock")), atomicfile.UnlessAbsent(d.dir.Remove(file+ending))); err != nil {
				return nil, err
			}
			continue
		}
		left = append(left, now)
	}
	return left, nil
}

// begin takes the lock of a new request, and then writes the request. The lock comes first: a
// request with a free lock counts as ended.
func (d *files) begin(r Request) error {
	file := fileOf(r.Session, r.ID)
	lock, err := atomicfile.OpenLocked(d.dir, file+".lock")
	if err != nil {
		return err
	}
	if ok, err := lock.Try(); err != nil || !ok {
		if err == nil {
			err = fmt.Errorf("ask as %s: %w", r.Name(), ErrTaken)
		}
		return errors.Join(err, lock.Release())
	}
	if err := d.record(r, "", "asked"); err != nil {
		return errors.Join(err, d.dir.Remove(file+".lock"), lock.Release())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[file] = lock
	return nil
}

// record writes a request, and a line about it into the audit. The line comes first, so that the
// audit has every verdict that counts.
func (d *files) record(r Request, verdict, result string) error {
	if err := d.audit(lineOf(r, verdict, result)); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return d.dir.Replace(fileOf(r.Session, r.ID)+ending, append(data, '\n'))
}

func (s *Store) release(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[file].Release()
	delete(s.held, file)
}

// Until returns the time at which the next open request expires, zero if none is open.
func Until(all []Request) (next time.Time) {
	for _, r := range all {
		if at := mail.FromSeconds(r.ExpiresAt); r.State == StateOpen && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
