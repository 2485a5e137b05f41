package broker

import (
	"bytes"
	"slices"
	"sort"
	"time"
)

const (
	// hiddenFor is how long a session that cannot be seen keeps its row in a full registry: each start of a
	// container has a PID namespace of its own, and none sees the sessions of the one before.
	hiddenFor = 7 * 24 * time.Hour
	// forgetAfter is how long a session that has ended keeps its row while there is room, and forgetSoon how long when
	// the registry is more than half full.
	forgetAfter = 30 * 24 * time.Hour
	forgetSoon  = 24 * time.Hour
	// crowded is the size of a registry from which on forgetSoon holds. c2c doctor warns later, at 70 %: by then
	// mail is what keeps the rows.
	crowded = registryMax / 2
)

// idleRow is a row of a session that may be forgotten.
type idleRow struct {
	sid  string
	last time.Time // when the session was used last
}

// idle gives the rows of sessions whose client is gone, or is in another PID namespace and was not seen for long, the
// longest unused first. A session that has facts of ours and no known process, as over HTTP, counts when it was not used
// for forgetAfter.
func (b *Broker) idle(rows []row) (all []idleRow) {
	now := b.now()
	for _, r := range rows {
		s := b.session(r)
		if s.State != Absent && s.State != Unknown || s.HasMailToMove() {
			continue
		}
		last := b.lastUsed(r)
		unused := now.Sub(last)
		hidden := s.State == Unknown && (s.PID != 0 && unused > hiddenFor || s.facts.stored && unused > forgetAfter)
		if s.State == Absent || hidden {
			all = append(all, idleRow{s.ID, last})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].last.Before(all[j].last) })
	return all
}

// hasMail says whether anything waits for a session that somebody wrote. What c2c itself has written does not count: it is
// worth nothing to a session that does not come back, and is there for one that does.
func (b *Broker) hasMail(sid string) bool {
	box, err := b.Mailbox(sid)
	if err != nil {
		return true
	}
	some, err := box.HoldsMail()
	return err != nil || some
}

// forget makes room in a registry of size bytes, until it is three quarters full: it removes idle sessions without mail. Their
// facts stay, as after a sweep, since they may come back. Rows that are not in before are those that the caller
// wants to write; they stay.
func (b *Broker) forget(rows, before []row, size int) []row {
	all := len(rows)
	for _, one := range b.idle(rows) {
		if size <= registryMax/4*3 {
			break
		}
		i := findSID(rows, one.sid)
		is := func(old row) bool { return bytes.Equal(old, rows[i]) }
		if i < 0 || !slices.ContainsFunc(before, is) || b.hasMail(one.sid) {
			continue
		}
		size -= len(rows[i]) + len(",\n")
		rows = slices.Delete(rows, i, i+1)
	}
	b.log.Info("registry was full", "forgotten", all-len(rows))
	return rows
}

// forgetIdle removes the rows of sessions without mail that were not used for long, before the registry is full.
func (b *Broker) forgetIdle(rows []row, idle []idleRow) []row {
	size, now := len(formatRegistry(rows)), b.now()
	for _, one := range idle {
		unused := now.Sub(one.last)
		if unused <= forgetAfter && (size <= crowded || unused <= forgetSoon) {
			break // the others were used later
		}
		if b.hasMail(one.sid) {
			continue
		}
		i := findSID(rows, one.sid)
		size -= len(rows[i]) + len(",\n")
		rows = slices.Delete(rows, i, i+1)
	}
	return rows
}
