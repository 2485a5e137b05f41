package owed

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// Stats counts the obligations of a root: all open ones, and those closed ones of which c2c still
// has records (some thousand).
type Stats struct {
	Root     string         `json:"root"`
	Open     int            `json:"open"`
	Overdue  int            `json:"overdue"` // of the open ones
	Over     map[string]int `json:"over"`    // how many closed ones have each state
	Total    SurfaceStats   `json:"total"`
	Surfaces []SurfaceStats `json:"surfaces"` // one for each value of surface_support that receivers had when the message was sent
}

// SurfaceStats has the counts that SPEC-091 asks for, and how long the hand-over took. Each count
// is of those that the one before counts. Only Observed may be larger than Pushed, because a
// working session gets mail without a ring.
type SurfaceStats struct {
	Surface      string  `json:"surface_support,omitempty"`
	Sent         int     `json:"sent"`
	Pushed       int     `json:"pushed"`       // c2c has rung for the message
	Observed     int     `json:"observed"`     // the message was handed over
	Acknowledged int     `json:"acknowledged"` // the receiver wrote something about the message
	Observe      Latency `json:"observe_seconds"`

	took []float64 // seconds from the send to the hand-over
}

// Latency summarizes durations, in seconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
}

// ReadStats counts the obligations of the root. It takes no lock of the records and changes
// nothing.
func ReadStats(ctx context.Context, reg *sessions.Registry) (Stats, error) {
	st := Stats{Root: reg.Root(), Over: map[string]int{}, Surfaces: []SurfaceStats{}}
	dir, err := reg.SubIfThere(Directory)
	if err != nil || dir == nil {
		return st, err
	}
	defer dir.Close()
	open, over, err := AllRecords(dir, true)
	if err != nil {
		return st, err
	}
	by := map[string]*SurfaceStats{"": &st.Total, sessions.SurfaceFull: {Surface: sessions.SurfaceFull}, sessions.SurfaceDegraded: {Surface: sessions.SurfaceDegraded}}
	count := func(d Record) {
		by[""].add(d)
		if s := by[cmp.Or(d.Surface, sessions.SurfaceDegraded)]; s != nil {
			s.add(d)
		}
	}
	for _, d := range over {
		st.Over[d.How]++
		count(d)
	}
	for sid, records := range open {
		addObserved(ctx, reg, sid, records)
		for _, d := range records {
			if st.Open++; !reg.Now().Before(mail.FromSeconds(d.Due)) {
				st.Overdue++
			}
			count(d)
		}
	}
	for _, surface := range []string{"", sessions.SurfaceFull, sessions.SurfaceDegraded} {
		s := by[surface]
		s.Observe, s.took = LatencyOf(s.took), nil
		if surface != "" && s.Sent > 0 {
			st.Surfaces = append(st.Surfaces, *s)
		}
	}
	return st, ctx.Err()
}

func (s *SurfaceStats) add(d Record) {
	s.Sent++
	if !d.Wakes.RangAt.IsZero() {
		s.Pushed++
	}
	if !d.ObservedAt.IsZero() {
		s.Observed++
		s.took = append(s.took, max(0, d.ObservedAt.Sub(d.Time()).Round(time.Millisecond).Seconds()))
	}
	if !d.AckedAt.IsZero() {
		s.Acknowledged++
	}
}

// addObserved notes in these records, but not on disk, when their messages were read. On disk, the
// time is added with the answer.
func addObserved(ctx context.Context, reg *sessions.Registry, sid string, records []Record) {
	ids := map[string]bool{}
	for _, d := range records {
		if d.ObservedAt.IsZero() {
			ids[d.ID] = true
		}
	}
	if len(ids) == 0 {
		return
	}
	observed := Observed(ctx, reg, sid, ids)
	for i := range records {
		if at, ok := observed[records[i].Key()]; ok && records[i].ObservedAt.IsZero() {
			records[i].ObservedAt = at
		}
	}
}

// LatencyOf summarizes durations, in seconds. A percentile is one of the durations: at least 95 % of
// them are as long as P95, or shorter.
func LatencyOf(all []float64) (l Latency) {
	if len(all) == 0 {
		return l
	}
	slices.Sort(all)
	at := func(part float64) float64 { return all[int(math.Ceil(part*float64(len(all))))-1] }
	return Latency{at(0.5), at(0.95), all[len(all)-1]}
}
