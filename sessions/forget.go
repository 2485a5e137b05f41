package sessions

import (
	"slices"
	"sort"
	"time"
)

const (
	// hiddenFor is how long a session in another PID namespace counts as one that may still run.
	// Each start of a container makes a new namespace, and c2c in it cannot see the sessions of
	// earlier starts.
	hiddenFor = 7 * 24 * time.Hour
	// ForgetAfter is how long an ended session keeps its row; ForgetSoon is for a registry with
	// more than crowded rows, which each hook reads.
	ForgetAfter = 30 * 24 * time.Hour
	ForgetSoon  = 24 * time.Hour
	crowded     = 200
)

// IdleRow is the row of a session that may be forgotten.
type IdleRow struct {
	SID  string
	Last time.Time // when the session was used last
}

// Idle returns the rows of sessions that may be forgotten, longest unused first. A session is idle
// if its client is gone. If its client is in another PID namespace, it is idle after hiddenFor
// without use. If c2c has facts about it but knows no process, for example over HTTP, it is idle
// after ForgetAfter without use.
func (reg *Registry) Idle(rows []Row) (all []IdleRow) {
	now, look := reg.Now(), reg.Prober()
	for _, r := range rows {
		s := look.Session(r)
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

// HasMail reports whether mail waits for a session. It also returns true if the mailbox cannot be
// read. Messages that c2c itself wrote do not count: they are useless if the session does not come
// back, and are kept if it does.
func (reg *Registry) HasMail(sid string) bool {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return true
	}
	some, err := box.HoldsMail()
	return err != nil || some
}

// ForgetIdle removes rows of sessions that have no mail and were unused for long.
func (reg *Registry) ForgetIdle(rows []Row, idle []IdleRow) []Row {
	now := reg.Now()
	for _, one := range idle {
		unused := now.Sub(one.Last)
		if unused <= ForgetAfter && (len(rows) <= crowded || unused <= ForgetSoon) {
			break // all others were used later
		}
		if reg.HasMail(one.SID) {
			continue
		}
		i := FindSID(rows, one.SID)
		rows = slices.Delete(rows, i, i+1)
	}
	return rows
}
