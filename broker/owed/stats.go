package owed

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
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

// LatencyOf summarizes durations, in seconds. A percentile is one of the durations: at least 95 % of them are as
// long as P95, or shorter.
func LatencyOf(all []float64) (l Latency) {
	if len(all) == 0 {
		return l
	}
	slices.Sort(all)
	at := func(part float64) float64 { return all[int(math.Ceil(part*float64(len(all))))-1] }
	return Latency{at(0.5), at(0.95), all[len(all)-1]}
}

// Prometheus writes the statistics of several roots in the Prometheus text format 0.0.4: each
// metric once, with the root as a label. A counter of Prometheus must not fall, but c2c forgets
// closed obligations after some time. So all metrics are gauges and summaries.
func Prometheus(w io.Writer, all ...Stats) error {
	var text strings.Builder
	if len(all) == 0 { // no root is open: write zeros, because a series that is absent can raise no alarm
		all = []Stats{{Surfaces: []SurfaceStats{{Surface: sessions.SurfaceFull}, {Surface: sessions.SurfaceDegraded}}}}
	}
	gauge := func(name, help string, samples func(Stats, func(labels string, value int))) {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
		for _, s := range all {
			samples(s, func(labels string, value int) {
				fmt.Fprintf(&text, "%s{root=%s%s} %d\n", name, Label(s.Root), labels, value)
			})
		}
	}
	gauge("c2c_obligations", "Questions, tasks and reviews on record, by state.", func(s Stats, put func(string, int)) {
		put(`,state="open"`, s.Open-s.Overdue)
		put(`,state="overdue"`, s.Overdue)
		for _, how := range slices.Sorted(maps.Keys(s.Over)) {
			put(`,state=`+Label(how), s.Over[how])
		}
	})
	for _, one := range []struct {
		name, help string
		of         func(SurfaceStats) int
	}{
		{"sent", "were sent", func(s SurfaceStats) int { return s.Sent }},
		{"pushed", "were rung for", func(s SurfaceStats) int { return s.Pushed }},
		{"observed", "were handed over", func(s SurfaceStats) int { return s.Observed }},
		{"acknowledged", "got a reply of any kind", func(s SurfaceStats) int { return s.Acknowledged }},
	} {
		gauge("c2c_obligations_"+one.name, "Obligations that "+one.help+", by surface_support of the session.", func(s Stats, put func(string, int)) {
			for _, surface := range s.Surfaces {
				put(`,surface_support=`+Label(surface.Surface), one.of(surface))
			}
		})
	}
	const name = "c2c_obligation_observe_seconds"
	fmt.Fprintf(&text, "# HELP %s Time from the send of a message until it was handed over.\n# TYPE %[1]s summary\n", name)
	for _, s := range all {
		for _, surface := range s.Surfaces {
			if surface.Observed == 0 {
				continue
			}
			for _, q := range []struct {
				part  string
				value float64
			}{{"0.5", surface.Observe.P50}, {"0.95", surface.Observe.P95}, {"1", surface.Observe.Max}} {
				fmt.Fprintf(&text, "%s{root=%s,surface_support=%s,quantile=%q} %g\n", name, Label(s.Root), Label(surface.Surface), q.part, q.value)
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Label writes the value of a label. The format has only these three escapes.
func Label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "?")) + `"`
}
