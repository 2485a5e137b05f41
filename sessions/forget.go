package sessions

import (
	"bytes"
	"slices"
	"sort"
	"time"

	"c2c/sessions/registry"
)

const (
	// hiddenFor is how long a session that cannot be seen keeps its row in a full registry: each start of a
	// container has a PID namespace of its own, and none sees the sessions of the one before.
	hiddenFor = 7 * 24 * time.Hour
	// ForgetAfter is how long a session that has ended keeps its row while there is room, and ForgetSoon how long when
	// the registry is more than half full.
	ForgetAfter = 30 * 24 * time.Hour
	ForgetSoon  = 24 * time.Hour
	// crowded is the size of a registry from which on ForgetSoon holds. c2c doctor warns later, at 70 %: by then
	// mail is what keeps the rows.
	crowded = registry.MaxBytes / 2
)

// IdleRow is a row of a session that may be forgotten.
type IdleRow struct {
	SID  string
	Last time.Time // when the session was used last
}

// Idle gives the rows of sessions whose client is gone, or is in another PID namespace and was not seen for long, the
// longest unused first. A session that has facts of ours and no known process, as over HTTP, counts when it was not used
// for ForgetAfter.
func (reg *Registry) Idle(rows []registry.Row) (all []IdleRow) {
	now := reg.Now()
	for _, r := range rows {
		s := reg.Session(r)
		if s.State != Absent && s.State != Unknown || s.HasMailToMove() {
			continue
		}
		last := reg.LastUsed(r)
		unused := now.Sub(last)
		hidden := s.State == Unknown && (s.PID != 0 && unused > hiddenFor || s.Facts.OnDisk() && unused > ForgetAfter)
		if s.State == Absent || hidden {
			all = append(all, IdleRow{s.ID, last})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Last.Before(all[j].Last) })
	return all
}

// HasMail says whether anything waits for a session that somebody wrote. What c2c itself has written does not count: it is
// worth nothing to a session that does not come back, and is there for one that does.
func (reg *Registry) HasMail(sid string) bool {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return true
	}
	some, err := box.HoldsMail()
	return err != nil || some
}

// forget makes room in a registry of size bytes, until it is three quarters full: it removes idle sessions without mail. Their
// facts stay, as after a sweep, since they may come back. Rows that are not in before are those that the caller
// wants to write; they stay.
func (reg *Registry) forget(rows, before []registry.Row, size int) []registry.Row {
	all := len(rows)
	for _, one := range reg.Idle(rows) {
		if size <= registry.MaxBytes/4*3 {
			break
		}
		i := registry.FindSID(rows, one.SID)
		is := func(old registry.Row) bool { return bytes.Equal(old, rows[i]) }
		if i < 0 || !slices.ContainsFunc(before, is) || reg.HasMail(one.SID) {
			continue
		}
		size -= len(rows[i]) + len(",\n")
		rows = slices.Delete(rows, i, i+1)
	}
	reg.Log.Info("registry was full", "forgotten", all-len(rows))
	return rows
}

// ForgetIdle removes the rows of sessions without mail that were not used for long, before the registry is full.
func (reg *Registry) ForgetIdle(rows []registry.Row, idle []IdleRow) []registry.Row {
	size, now := len(registry.Format(rows)), reg.Now()
	for _, one := range idle {
		unused := now.Sub(one.Last)
		if unused <= ForgetAfter && (size <= crowded || unused <= ForgetSoon) {
			break // the others were used later
		}
		if reg.HasMail(one.SID) {
			continue
		}
		i := registry.FindSID(rows, one.SID)
		size -= len(rows[i]) + len(",\n")
		rows = slices.Delete(rows, i, i+1)
	}
	return rows
}
