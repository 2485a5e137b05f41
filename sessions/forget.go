package sessions

import (
	"bytes"
	"slices"
	"sort"
	"time"
)

const (
	// hiddenFor is how long a session in another PID namespace keeps its row in a full registry. Each start of a container makes a new
	// namespace, and c2c in it cannot see the sessions of earlier starts.
	hiddenFor = 7 * 24 * time.Hour
	// ForgetAfter is how long an ended session keeps its row while there is room; ForgetSoon is for a registry that is more than half full.
	ForgetAfter = 30 * 24 * time.Hour
	ForgetSoon  = 24 * time.Hour
	// crowded is the size above which ForgetSoon applies. c2c doctor warns later, at 70 %: then the only idle rows that are left have mail.
	crowded = MaxRegistryBytes / 2
)

// IdleRow is the row of a session that may be forgotten.
type IdleRow struct {
	SID  string
	Last time.Time // when the session was used last
}

// Idle returns the rows of sessions that may be forgotten, longest unused first. A session is idle if its client is gone. If its client is
// in another PID namespace, it is idle after hiddenFor without use. If c2c has facts about it but knows no process, for example over HTTP,
// it is idle after ForgetAfter without use.
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

// HasMail reports whether mail waits for a session. It also returns true if the mailbox cannot be read. Messages that c2c itself
// wrote do not count: they are useless if the session does not come back, and are kept if it does.
func (reg *Registry) HasMail(sid string) bool {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return true
	}
	some, err := box.HoldsMail()
	return err != nil || some
}

// forget removes idle sessions without mail from a registry of size bytes, until it is three quarters full. The facts of a removed session
// stay, as after a sweep, because the session may come back. A row that is not in before is new or changed, and stays.
func (reg *Registry) forget(rows, before []Row, size int) []Row {
	all := len(rows)
	for _, one := range reg.Idle(rows) {
		if size <= MaxRegistryBytes/4*3 {
			break
		}
		i := FindSID(rows, one.SID)
		unchanged := func(old Row) bool { return bytes.Equal(old, rows[i]) }
		if i < 0 || !slices.ContainsFunc(before, unchanged) || reg.HasMail(one.SID) {
			continue
		}
		size -= len(rows[i]) + len(",\n")
		rows = slices.Delete(rows, i, i+1)
	}
	reg.Log.Info("registry was full", "forgotten", all-len(rows))
	return rows
}

// ForgetIdle removes rows of sessions that have no mail and were unused for long. It does not wait until the registry is full.
func (reg *Registry) ForgetIdle(rows []Row, idle []IdleRow) []Row {
	size, now := len(FormatRegistry(rows)), reg.Now()
	for _, one := range idle {
		unused := now.Sub(one.Last)
		if unused <= ForgetAfter && (size <= crowded || unused <= ForgetSoon) {
			break // all others were used later
		}
		if reg.HasMail(one.SID) {
			continue
		}
		i := FindSID(rows, one.SID)
		size -= len(rows[i]) + len(",\n")
		rows = slices.Delete(rows, i, i+1)
	}
	return rows
}
