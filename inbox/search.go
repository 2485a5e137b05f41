package inbox

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"c2c/inbox/mail"
)

// Query is what Search looks for.
type Query struct {
	// IDs are the ids to find, each the whole id or its short form (mail.ShortID). The archive has
	// an index of ids. Nil: any id.
	IDs map[string]bool
	// Holds reports whether a part of a file may have a matching message. Search does not parse
	// other parts. Nil: every part may.
	Holds func(data []byte) bool
	// MayBeOf reports whether a message that was sent at the time ts may match. Search does not
	// parse other messages in the archive. Nil: any may.
	MayBeOf func(ts float64) bool
	// Match reports whether a message matches.
	Match func(mail.Message) bool
	// Search returns at most Limit waiting messages and at most Limit archived messages, the newest
	// ones.
	Limit int
	// Since is a place in the archive. Search ignores records before this place.
	Since Mark
	// Wait is the longest time that Search waits for the lock of the mailbox. 0: until ctx ends.
	Wait time.Duration
}

func (q Query) mayBeIn(data []byte) bool { return q.Holds == nil || q.Holds(data) }

func (q Query) mayBe(line []byte) bool {
	if q.MayBeOf == nil {
		return true
	}
	ts, ok := timeOf(line)
	return !ok || q.MayBeOf(ts)
}

// timeOf returns the time of a message from a line of the archive, without parsing the line. The
// result ok is false if the line is not in c2c's own spelling and must be parsed.
func timeOf(line []byte) (ts float64, ok bool) {
	if bytes.Count(line, []byte(`"ts"`)) != 1 { // inside a text the quotes are escaped
		return 0, false
	}
	_, rest, _ := bytes.Cut(line, []byte(`,"ts":`))
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0, false
	}
	ts, err := strconv.ParseFloat(string(rest[:end]), 64)
	return ts, err == nil
}

// Search returns the matching messages: waiting ones, then archived ones, each newest first. It
// takes the lock only for the waiting messages, and searches them first, because a message moves
// from there to the archive. (PutBack copies it back; then Search may find only that it was read.)
func (m *Mailbox) Search(ctx context.Context, q Query) ([]Found, error) {
	if q.IDs != nil {
		m.archive.Index(ctx)
		q.Holds = mail.HoldsID(q.IDs, q.Holds)
	}
	waiting, err := m.searchWaiting(ctx, q)
	if err != nil {
		return nil, err
	}
	var read []Found
	more := func() bool { return len(read) < q.Limit && ctx.Err() == nil }
	see := func(r ArchiveRecord) bool {
		if len(read) < q.Limit && q.Match(r.Message) {
			read = append(read, r.Found())
		}
		return more()
	}
	if q.IDs != nil && q.Since == 0 {
		err = errors.Join(m.archive.WithIDs(q.IDs, more, func(r ArchiveRecord) { see(r) }), ctx.Err())
	} else {
		err = m.archive.Newest(ctx, q.Since, q.mayBeIn, func(line []byte) bool { return q.mayBeIn(line) && q.mayBe(line) }, see)
	}
	return join(waiting, read), err
}

func (r *row) searchWaiting(ctx context.Context, q Query) (found []Found, err error) {
	if some, err := r.Used(); err != nil || !some {
		return nil, err
	}
	if q.Wait > 0 {
		brief, cancel := context.WithTimeout(ctx, q.Wait)
		defer cancel()
		ctx = brief
	}
	lk, err := r.lockToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer lk.Release()
	err = r.newestFirst(q.mayBeIn, func(mf *mailFile) (more bool) {
		slices.Reverse(mf.msgs)
		slices.Reverse(mf.pending)
		mf.each(func(f Found) {
			if len(found) < q.Limit && q.Match(f.Message) {
				found = append(found, f)
			}
		})
		return len(found) < q.Limit
	})
	return found, err
}
