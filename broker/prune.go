package broker

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// Pruned is what a prune removed, or would remove.
type Pruned struct {
	Archives    inbox.Pruned `json:"archives"`     // parts of archives, of sessions that are still known
	DeadLetters inbox.Pruned `json:"dead_letters"` // messages
	Sessions    int          `json:"sessions"`     // that are gone
	Files       inbox.Pruned `json:"files"`        // of those: archives, facts, locks
	ClientIDs   inbox.Pruned `json:"client_ids"`   // that led to those
}

// Prune removes what is older than a duration and of use to nobody: parts of archives, dead letters, and all
// files of sessions that are not registered, have no mail, and were not used for so long. With dry it only counts.
// After an error it has gone on with the rest.
func (b *Broker) Prune(ctx context.Context, older time.Duration, dry bool) (p Pruned, err error) {
	before := b.now().Add(-older)
	p.DeadLetters, err = b.pruneDead(ctx, before, dry)
	err = errors.Join(err, b.pruneSessions(ctx, before, dry, &p))
	return p, err
}

func (b *Broker) pruneSessions(ctx context.Context, before time.Time, dry bool, p *Pruned) error {
	sids, err := inbox.Sessions(b.root)
	if err != nil {
		return err
	}
	dir, err := b.root.Sub("sessions", !dry)
	switch {
	case err == nil:
		defer dir.Close()
		err = inbox.AddSessions(sids, dir, ".json", ".lock")
	case dry && errors.Is(err, fs.ErrNotExist):
		dir, err = nil, nil // no session has facts
	}
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	var errs []error // a broken mailbox stops no other
	for sid := range sids {
		gone[sid], err = b.pruneSession(ctx, dir, sid, before, dry, p)
		errs = append(errs, err)
	}
	p.ClientIDs, err = b.pruneIDs(ctx, dir, gone, before, dry)
	return errors.Join(append(errs, err)...)
}

// pruneSession holds the registry's lock: nobody registers the session meanwhile, and the original, which does
// not see that a lock file is removed, sends nothing to it.
func (b *Broker) pruneSession(ctx context.Context, dir *atomicfile.Dir, sid string, before time.Time, dry bool, p *Pruned) (gone bool, err error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return false, err
	}
	err = b.underRegistry(ctx, dry, func(rows []row) error {
		if findSID(rows, sid) >= 0 {
			return nil
		}
		used, err := box.Changed()
		if err != nil || !lastFacts(dir, sid, used).Before(before) {
			return err
		}
		gone, err = b.discard(box, dir, sid, dry, p)
		return err
	})
	if err != nil || gone {
		return gone, err
	}
	parts, err := box.PruneArchive(ctx, before, dry)
	p.Archives.Count += parts.Count
	p.Archives.Bytes += parts.Bytes
	return false, err
}

// underRegistry gives f the rows, under the lock unless nothing will be changed.
func (b *Broker) underRegistry(ctx context.Context, dry bool, f func([]row) error) error {
	if dry {
		rows, err := b.rows(ctx)
		if err != nil {
			return err
		}
		return f(rows)
	}
	return b.change(ctx, func(rows []row) ([]row, error) { return rows, f(rows) })
}

// discard removes all files of a session, unless mail waits or somebody has one of its locks.
func (b *Broker) discard(box *inbox.Mailbox, dir *atomicfile.Dir, sid string, dry bool, p *Pruned) (bool, error) {
	var own inbox.Pruned
	locks := []place{{b.root, ringLock(sid)}, {b.root, serverLock(sid)}, {dir, sid + ".lock"}}
	for _, l := range locks {
		if l.dir == nil {
			continue
		}
		if info, err := l.dir.Stat(l.name); err == nil {
			own.Add(info.Size())
		}
		if dry {
			continue
		}
		lock, err := filelock.Open(l.dir, l.name)
		if err != nil {
			return false, err
		}
		defer lock.Release()
		if free, err := lock.Try(); err != nil || !free {
			return false, err
		}
	}
	files, gone, err := box.Discard(dry)
	if err != nil || !gone {
		return false, err
	}
	p.Sessions++
	p.Files.Count += files.Count + own.Count
	p.Files.Bytes += files.Bytes + own.Bytes
	if dir == nil {
		return true, nil
	}
	if err := p.Files.Remove(dir, sid+".json", dry); err != nil || dry {
		return true, err
	}
	for _, l := range locks {
		if err := l.dir.Remove(l.name); err != nil {
			return true, err
		}
	}
	return true, errors.Join(dir.Sync(), b.root.Sync())
}

type place struct {
	dir  *atomicfile.Dir
	name string
}

// pruneIDs removes the client ids that lead to a session without a row and without facts.
func (b *Broker) pruneIDs(ctx context.Context, dir *atomicfile.Dir, gone map[string]bool, before time.Time, dry bool) (p inbox.Pruned, err error) {
	if dir == nil {
		return p, nil
	}
	ids, err := dir.Sub("ids", !dry)
	if dry && errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer ids.Close()
	return p, b.underRegistry(ctx, dry, func(rows []row) error {
		names, err := ids.Names()
		if err != nil {
			return err
		}
		for _, name := range names {
			info, err := ids.Stat(name)
			if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
				continue
			}
			data, err := ids.Read(name)
			if err != nil {
				continue // not ours
			}
			sid := strings.TrimSpace(string(data))
			if _, err := dir.Stat(sid + ".json"); findSID(rows, sid) >= 0 || !gone[sid] && !errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := p.Remove(ids, name, dry); err != nil {
				return err
			}
		}
		if dry {
			return nil
		}
		return ids.Sync()
	})
}

// A deleted_at before noTime is none: zero, negative, a small number.
var noTime = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// pruneDead removes old dead letters. A line that does not parse stays, and so does one whose age is not known.
func (b *Broker) pruneDead(ctx context.Context, before time.Time, dry bool) (p inbox.Pruned, err error) {
	prune := func() error {
		lines, err := b.deadLines()
		if err != nil {
			return err
		}
		var kept [][]byte
		for _, line := range lines {
			if d, ok := parseDead(line); ok && d.DeletedAt > inbox.Seconds(noTime) && d.DeletedAt < inbox.Seconds(before) {
				p.Add(int64(len(line)))
			} else {
				kept = append(kept, line)
			}
		}
		if dry || p.Count == 0 {
			return nil
		}
		return b.root.Replace(deadFile, bytes.Join(kept, nil))
	}
	if !b.hasDead() {
		return p, nil
	}
	if dry {
		err = prune()
	} else {
		err = b.locked(ctx, deadLock, prune)
	}
	return p, err
}
