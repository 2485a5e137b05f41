package moves

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// Pruned is what a prune removed, or would remove.
type Pruned struct {
	Archives    inbox.Pruned `json:"archives"`     // parts of the archives of sessions that are still known
	DeadLetters inbox.Pruned `json:"dead_letters"` // messages
	Sessions    int          `json:"sessions"`     // sessions that are gone
	Files       inbox.Pruned `json:"files"`        // all files of these sessions
	ClientIDs   inbox.Pruned `json:"client_ids"`   // client ids of sessions that are gone
	Pointers    inbox.Pruned `json:"pointers"`     // hook scripts' pointers to sessions that are gone
}

// Prune removes useless data that is older than age: parts of archives, dead letters, and all files
// of sessions that are not registered, have no mail, and were not used for that time. The argument
// pointers is a directory that other roots use, too: in it Prune removes only files that point to
// sessions of this root that are gone. If dry is set, Prune only counts. After an error it goes on
// with the rest.
func Prune(ctx context.Context, reg *sessions.Registry, age time.Duration, pointers string, dry bool) (Pruned, error) {
	p := &pruning{reg: reg, before: reg.Now().Add(-age), dry: dry, gone: map[string]bool{}}
	err := p.pruneDead(ctx)
	err = errors.Join(err, p.pruneSessions(ctx, pointers))
	return p.Pruned, err
}

// pruning is one Prune.
type pruning struct {
	Pruned
	reg    *sessions.Registry
	before time.Time
	dry    bool
	facts  *atomicfile.Dir // nil: no session has facts
	owed   *atomicfile.Dir // nil: no session owed an answer
	gone   map[string]bool // the sessions whose files are removed
}

func (p *pruning) pruneSessions(ctx context.Context, pointers string) error {
	if _, err := p.reg.Rows(ctx); err != nil { // repairs a damaged registry
		return err
	}
	sids, err := inbox.Sessions(p.reg.Dir())
	if err != nil {
		return err
	}
	facts, err := p.reg.Dir().Sub("sessions", false)
	if err == nil {
		defer facts.Close()
		p.facts = facts
		err = inbox.AddSessions(sids, facts, ".json", ".lock")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	owed, err := p.reg.Dir().Sub(owed.Directory, false)
	if err == nil {
		defer owed.Close()
		p.owed = owed
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error // after an error, go on with the others
	for sid := range sids {
		errs = append(errs, p.pruneSession(ctx, sid))
	}
	if facts != nil {
		ids, err := facts.Sub("ids", false)
		errs = append(errs, p.pruneNames(ctx, &p.ClientIDs, ids, err, ""))
	}
	dir, err := atomicfile.Open(pointers)
	errs = append(errs, p.pruneNames(ctx, &p.Pointers, dir, err, p.reg.Root()+"/"))
	return errors.Join(errs...)
}

// locked runs f under a lock. A dry run takes no lock, because it must not make the lock file.
func (p *pruning) locked(ctx context.Context, name string, f func() error) error {
	if p.dry {
		return f()
	}
	return p.reg.Locks.With(ctx, name, f)
}

// pruneSession prunes one session. It holds the registry's lock, so the session cannot register
// meanwhile.
func (p *pruning) pruneSession(ctx context.Context, sid string) error {
	reg := p.reg
	box, err := reg.Mailbox(sid)
	if err != nil {
		return err
	}
	var files inbox.Pruned
	err = p.locked(ctx, sessions.RegistryLock, func() error {
		rows, err := reg.ReadRegistry()
		if err != nil || sessions.FindSID(rows, sid) >= 0 {
			return err
		}
		used, err := box.Changed()
		if err == nil && sessions.LastFactsChange(p.facts, sid, used).Before(p.before) {
			files, p.gone[sid], err = box.Discard(p.dry, inbox.Entry{Dir: reg.Dir(), Name: sessions.RingLock(sid)}, inbox.Entry{Dir: reg.Dir(), Name: sessions.ServerLock(sid)},
				inbox.Entry{Dir: reg.Dir(), Name: sessions.RoomPlaces(sid)}, inbox.Entry{Dir: reg.Dir(), Name: sessions.RoomPlacesLock(sid)},
				inbox.Entry{Dir: reg.Dir(), Name: sessions.RoomOpen(sid)},
				inbox.Entry{Dir: p.facts, Name: sid + ".json"}, inbox.Entry{Dir: p.facts, Name: sid + ".lock"},
				inbox.Entry{Dir: reg.Dir(), Name: sessions.WorkName(sid)}, inbox.Entry{Dir: reg.Dir(), Name: sessions.AnsweredName(sid)},
				inbox.Entry{Dir: reg.Dir(), Name: inbox.CalmName(sid)},
				inbox.Entry{Dir: p.owed, Name: sid + owed.Suffix}, inbox.Entry{Dir: p.owed, Name: sid + ".lock"})
		}
		return err
	})
	if p.gone[sid] {
		p.Sessions++
		p.Files.Count += files.Count
		p.Files.Bytes += files.Bytes
	}
	if err != nil || p.gone[sid] {
		return err
	}
	parts, err := box.Archive().Prune(ctx, p.before, p.dry)
	p.Archives.Count += parts.Count
	p.Archives.Bytes += parts.Bytes
	return err
}

// isGone reports whether an unregistered session has no facts, either.
func (p *pruning) isGone(sid string) bool {
	if p.gone[sid] || p.facts == nil {
		return true
	}
	_, err := p.facts.Stat(sid + ".json")
	return errors.Is(err, fs.ErrNotExist)
}

// pruneNames removes those files of a directory that point to a session that is gone. The first
// line of such a file is a prefix and a session id. The argument openErr is the error of opening
// the directory. pruneNames holds the registry's lock, because a session is registered before a
// file points to it.
func (p *pruning) pruneNames(ctx context.Context, count *inbox.Pruned, dir *atomicfile.Dir, openErr error, prefix string) error {
	if openErr != nil {
		return atomicfile.UnlessAbsent(openErr)
	}
	defer dir.Close()
	return p.locked(ctx, sessions.RegistryLock, func() error {
		rows, err := p.reg.ReadRegistry()
		if err != nil {
			return err
		}
		names, err := dir.Names()
		for _, name := range names {
			info, err := dir.Stat(name)
			if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(p.before) {
				continue
			}
			data, err := dir.Read(name)
			if err != nil {
				continue // not a file of ours
			}
			first, _, _ := strings.Cut(string(data), "\n")
			sid, here := strings.CutPrefix(first, prefix)
			if !here || strings.Contains(sid, "/") || sessions.FindSID(rows, sid) >= 0 || !p.isGone(sid) {
				continue
			}
			if err := count.Remove(dir, name, p.dry); err != nil {
				return err
			}
		}
		if err != nil || p.dry {
			return err
		}
		return dir.Sync()
	})
}

// noTime is earlier than any dead letter. If deleted_at is before noTime, it is zero or another
// number that is no time.
var noTime = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// pruneDead removes old dead letters. It keeps lines that do not parse, or whose age is not known.
func (p *pruning) pruneDead(ctx context.Context) error {
	reg := p.reg
	if !callers.MayHaveDeadLetters(reg) {
		return nil
	}
	return p.locked(ctx, owed.DeadLetterLock, func() error {
		lines, err := owed.ReadDeadLines(reg)
		if err != nil {
			return err
		}
		var kept [][]byte
		for _, line := range lines {
			if d, ok := owed.ParseDead(line); ok && d.DeletedAt > mail.Seconds(noTime) && d.DeletedAt < mail.Seconds(p.before) {
				p.DeadLetters.Add(int64(len(line)))
			} else {
				kept = append(kept, line)
			}
		}
		if p.dry || p.DeadLetters.Count == 0 {
			return nil
		}
		return reg.Dir().Replace(callers.DeadLetterFile, bytes.Join(kept, nil))
	})
}
