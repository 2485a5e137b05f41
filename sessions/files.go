package sessions

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"slices"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// CheckID returns an error if id cannot be the id of a message.
func CheckID(id string) error { return mail.CheckName("message id", id) }

// NotifyFile is the file in which package owed keeps the requests for a notice. It exists only
// while somebody waits.
const NotifyFile = "notify.json"

// ClaimsFile is the file of package claims. It exists only while there is a claim.
const ClaimsFile = "claims.json"

// Mailboxes returns the ids of all sessions that have files of a mailbox, registered sessions
// first. A mailbox may have only a lock file, which stays when the mail is gone.
func (reg *Registry) Mailboxes(ctx context.Context) (sids []string, err error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return nil, err
	}
	used, err := inbox.Sessions(reg.root)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if sid := r.SID(); used[sid] {
			sids = append(sids, sid)
			delete(used, sid)
		}
	}
	return append(sids, slices.Sorted(maps.Keys(used))...), nil
}

// LastUsed returns when a session was last used, according to its row and its files.
func (reg *Registry) LastUsed(r Row) time.Time {
	last := mail.FromSeconds(max(r.Number("registered_at"), r.Number("last_activity_ts"), r.Number("confirmed_at")))
	if t := reg.LastChange(r.SID()); t.After(last) {
		return t
	}
	return last
}

// LastChange returns when a file of a session was last written. It ignores files that it cannot
// stat.
func (reg *Registry) LastChange(sid string) (last time.Time) {
	if box, err := reg.Mailbox(sid); err == nil {
		last, _ = box.Changed()
	}
	if dir, err := reg.Facts.Dir(); err == nil {
		defer dir.Close()
		last = LastFactsChange(dir, sid, last)
	}
	return last
}

// SubIfThere opens a directory below the root. If there is none, it returns nil and no error.
func (reg *Registry) SubIfThere(name string) (*atomicfile.Dir, error) {
	dir, err := reg.root.Sub(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return dir, err
}

// These functions name the files of a session that is in a room. Package rooms writes the files,
// and the hook script checks whether they exist. RoomOpen exists if the session sees the posts of
// some room during a turn, too. When the session is gone, nothing needs these files.
func RoomPlaces(sid string) string     { return sid + ".rooms" }
func RoomPlacesLock(sid string) string { return sid + ".rooms.lock" }
func RoomOpen(sid string) string       { return sid + ".rooms-open" }

// Holds makes a function for the field Holds of inbox.Query. With it, a search skips data that does
// not contain the text.
func Holds(text string) func([]byte) bool {
	return func(data []byte) bool { return bytes.Contains(data, []byte(text)) }
}

// WithIDs makes a query for all messages with these ids.
func WithIDs(ids map[string]bool) inbox.Query {
	return inbox.Query{IDs: ids, Match: func(m mail.Message) bool { return ids[m.ID] }, Limit: math.MaxInt}
}

func (reg *Registry) SearchOne(ctx context.Context, sid string, q inbox.Query) ([]inbox.Found, error) {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	q.Wait = KeepWait // a stopped process may hold the mailbox's lock
	return box.Search(ctx, q)
}

// KeepWait bounds how long a search waits for one locked mailbox.
const KeepWait = 2 * time.Second
