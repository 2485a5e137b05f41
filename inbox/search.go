package inbox

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"c2c/inbox/archive"
	"c2c/inbox/mail"
)

// Query is what Search looks for.
type Query struct {
	// IDs are those that are looked for, whole or as they are shown (ShortID): the archive has an index of them. Nil: any.
	IDs map[string]bool
	// Holds says whether such a message may stand in these bytes of a file, so that others are not parsed. Nil: in any.
	Holds func(data []byte) bool
	// MayBeOf says whether a message of that time may be one, so that the archive's others are not parsed. Nil: any time.
	MayBeOf func(ts float64) bool
	// Match says whether a message is wanted.
	Match func(mail.Message) bool
	// Limit is how many are wanted of those that wait, and of those that are archived: the newest.
	Limit int
	// Since is the place in the archive behind which it looks.
	Since archive.Mark
	// Wait is how long another process may keep the mailbox locked; 0: until the caller's time is over.
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

// timeOf gives the time of a message from a line of the archive, without parsing it. ok is false for a line that has to be
// parsed: it has not the spelling of c2c.
func timeOf(line []byte) (ts float64, ok bool) {
	if bytes.Count(line, []byte(`"ts"`)) != 1 { // within a text there is a backslash before the second quote
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

// Search gives messages of the mailbox: those that wait, and then those that are archived, of each the newest first. It takes
// the lock for what waits alone, and looks at that first: messages only go from there to the archive.
func (m *Mailbox) Search(ctx context.Context, q Query) ([]Found, error) {
	if q.IDs != nil {
		m.archive.Index(ctx)
		q.Holds = mail.HoldsShownID(q.IDs, q.Holds)
	}
	waiting, err := m.searchWaiting(ctx, q)
	if err != nil {
		return nil, err
	}
	var read []Found
	more := func() bool { return len(read) < q.Limit && ctx.Err() == nil }
	see := func(r archive.Record) bool {
		if len(read) < q.Limit && q.Match(r.Message) {
			read = append(read, foundRead(r))
		}
		return more()
	}
	if q.IDs != nil && q.Since == 0 {
		err = errors.Join(m.archive.WithIDs(q.IDs, more, func(r archive.Record) { see(r) }), ctx.Err())
	} else {
		err = m.archive.Newest(ctx, q.Since, q.mayBeIn, func(line []byte) bool { return q.mayBeIn(line) && q.mayBe(line) }, see)
	}
	return append(withoutRead(waiting, read), read...), err
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
		var matching []Found
		mf.each(func(f Found) {
			if q.Match(f.Message) {
				matching = append(matching, f)
			}
		})
		slices.Reverse(matching)
		found = append(found, matching...)
		return len(found) < q.Limit
	})
	return found[:min(len(found), q.Limit)], err
}
