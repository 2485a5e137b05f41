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
	if _, err := b.rows(ctx); err != nil { // repairs a damaged registry
		return err
	}
	sids, err := inbox.Sessions(b.root)
	if err != nil {
		return err
	}
	dir, err := b.root.Sub("sessions", false)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = nil, nil // no session has facts
	} else if err == nil {
		defer dir.Close()
		err = inbox.AddSessions(sids, dir, ".json", ".lock")
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
	if dir != nil {
		p.ClientIDs, err = b.pruneIDs(ctx, dir, gone, before, dry)
	}
	return errors.Join(append(errs, err)...)
}

// lockedUnless runs f under a lock. A dry run takes no lock, because it makes no file.
func (b *Broker) lockedUnless(ctx context.Context, dry bool, name string, f func() error) error {
	if dry {
		return f()
	}
	return b.locked(ctx, name, f)
}

// pruneSession holds the registry's lock: nobody registers the session meanwhile, and the original, which does
// not see that a lock file is removed, sends nothing to it.
func (b *Broker) pruneSession(ctx context.Context, dir *atomicfile.Dir, sid string, before time.Time, dry bool, p *Pruned) (gone bool, err error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return false, err
	}
	var files inbox.Pruned
	err = b.lockedUnless(ctx, dry, RegistryLock, func() error {
		rows, err := b.readRegistry()
		if err != nil || findSID(rows, sid) >= 0 {
			return err
		}
		used, err := box.Changed()
		if err == nil && lastFacts(dir, sid, used).Before(before) {
			files, gone, err = box.Discard(dry, inbox.Entry{Dir: b.root, Name: ringLock(sid)}, inbox.Entry{Dir: b.root, Name: serverLock(sid)},
				inbox.Entry{Dir: dir, Name: sid + ".json"}, inbox.Entry{Dir: dir, Name: sid + ".lock"})
		}
		return err
	})
	if gone {
		p.Sessions++
		p.Files.Count += files.Count
		p.Files.Bytes += files.Bytes
	}
	if err != nil || gone {
		return gone, err
	}
	parts, err := box.PruneArchive(ctx, before, dry)
	p.Archives.Count += parts.Count
	p.Archives.Bytes += parts.Bytes
	return false, err
}

// pruneIDs removes the client ids that lead to a session without a row and without facts.
func (b *Broker) pruneIDs(ctx context.Context, dir *atomicfile.Dir, gone map[string]bool, before time.Time, dry bool) (p inbox.Pruned, err error) {
	ids, err := dir.Sub("ids", false)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer ids.Close()
	err = b.lockedUnless(ctx, dry, RegistryLock, func() error {
		rows, err := b.readRegistry()
		if err != nil {
			return err
		}
		names, err := ids.Names()
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
		if err != nil || dry {
			return err
		}
		return ids.Sync()
	})
	return p, err
}

// A deleted_at before noTime is no time: zero, or a negative or small number.
var noTime = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// pruneDead removes old dead letters. A line that does not parse stays, and so does one whose age is not known.
func (b *Broker) pruneDead(ctx context.Context, before time.Time, dry bool) (p inbox.Pruned, err error) {
	if !b.mayHaveDead() {
		return p, nil
	}
	err = b.lockedUnless(ctx, dry, deadLock, func() error {
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
	})
	return p, err
}
