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

// Stats counts the obligations of a root: all open ones, and those closed ones of which c2c still has records (some thousand).
type Stats struct {
	Root     string         `json:"root"`
	Open     int            `json:"open"`
	Overdue  int            `json:"overdue"` // of the open ones
	Over     map[string]int `json:"over"`    // how many closed ones have each state
	Total    SurfaceStats   `json:"total"`
	Surfaces []SurfaceStats `json:"surfaces"` // one for each value of surface_support that receivers had when the message was sent
}

// SurfaceStats has the counts and the latencies of obligations. Each field counts some of the obligations that the field before it counts.
// Only Observed may be larger than Pushed, because a working session gets mail without a ring.
type SurfaceStats struct {
	Surface      string `json:"surface_support,omitempty"`
	Sent         int    `json:"sent"`
	Pushed       int    `json:"pushed"`       // c2c has rung for the message
	Observed     int    `json:"observed"`     // the message was handed over
	Acknowledged int    `json:"acknowledged"` // the receiver wrote something about the message
	Answered     int    `json:"answered"`
	InTime       int    `json:"in_time"` // answered before the deadline

	Push    Latency `json:"push_seconds"` // each latency begins with the send
	Observe Latency `json:"observe_seconds"`
	Ack     Latency `json:"acknowledge_seconds"`
	Answer  Latency `json:"answer_seconds"`
}

// Latency summarizes durations, in seconds.
type Latency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	Max   float64 `json:"max"`
	Sum   float64 `json:"sum"`
}

// ReadStats counts the obligations of the root. It takes no lock of the records and changes nothing.
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
	c := counting{by: map[string]*surfaceCount{}}
	for _, d := range over {
		st.Over[d.How]++
		c.add(d)
	}
	for sid, records := range open {
		addObserved(ctx, reg, sid, records)
		for _, d := range records {
			if st.Open++; !reg.Now().Before(mail.FromSeconds(d.Due)) {
				st.Overdue++
			}
			c.add(d)
		}
	}
	st.Total, st.Surfaces = c.sum()
	return st, ctx.Err()
}

// addObserved notes in these records, but not on disk, when their messages were read. On disk, the time is added with the answer.
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

// counting adds up obligations by surface; the key "" stands for all surfaces.
type counting struct{ by map[string]*surfaceCount }

type surfaceCount struct {
	SurfaceStats
	push, observe, ack, answer []float64
}

func (c counting) add(d Record) {
	for _, surface := range []string{"", cmp.Or(d.Surface, sessions.SurfaceDegraded)} {
		if c.by[surface] == nil {
			c.by[surface] = &surfaceCount{SurfaceStats: SurfaceStats{Surface: surface}}
		}
		c.by[surface].add(d)
	}
}

func (s *surfaceCount) add(d Record) {
	s.Sent++
	took := func(count *int, all *[]float64, at time.Time) {
		if at.IsZero() {
			return
		}
		*count++
		*all = append(*all, max(0, at.Sub(d.Time()).Round(time.Millisecond).Seconds())) // clocks may be set back
	}
	took(&s.Pushed, &s.push, d.Wakes.RangAt)
	took(&s.Observed, &s.observe, d.ObservedAt)
	took(&s.Acknowledged, &s.ack, d.AckedAt)
	if !d.hasAnswer() {
		return
	}
	took(&s.Answered, &s.answer, d.ClosedAt)
	if !d.ClosedAt.After(mail.FromSeconds(d.Due)) {
		s.InTime++
	}
}

func (c counting) sum() (total SurfaceStats, surfaces []SurfaceStats) {
	surfaces = []SurfaceStats{}
	for _, name := range []string{"", sessions.SurfaceFull, sessions.SurfaceDegraded} {
		s := c.by[name]
		if s == nil {
			continue
		}
		s.Push, s.Observe, s.Ack, s.Answer = latency(s.push), latency(s.observe), latency(s.ack), latency(s.answer)
		if name == "" {
			total = s.SurfaceStats
		} else {
			surfaces = append(surfaces, s.SurfaceStats)
		}
	}
	return total, surfaces
}

// latency summarizes durations. A percentile is one of the durations: at least 95 % of them are as long as P95, or shorter.
func latency(all []float64) (l Latency) {
	if l.Count = len(all); l.Count == 0 {
		return l
	}
	slices.Sort(all)
	at := func(part float64) float64 { return all[int(math.Ceil(part*float64(len(all))))-1] }
	l.P50, l.P95, l.Max = at(0.5), at(0.95), all[len(all)-1]
	for _, v := range all {
		l.Sum += v
	}
	return l
}

// Prometheus writes the statistics of several roots in the Prometheus text format 0.0.4: each metric once, with the root as a label. A
// counter of Prometheus must not fall, but c2c forgets closed obligations after some time. So all metrics are gauges and summaries.
func Prometheus(w io.Writer, all ...Stats) error {
	var text strings.Builder
	if len(all) == 0 { // no root is open: write zeros, because a series that is absent can raise no alarm
		all = []Stats{{Surfaces: []SurfaceStats{{Surface: sessions.SurfaceFull}, {Surface: sessions.SurfaceDegraded}}}}
	}
	gauge := func(name, help string, samples func(Stats, func(labels string, value int))) {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
		for _, s := range all {
			samples(s, func(labels string, value int) {
				fmt.Fprintf(&text, "%s{root=%s%s} %d\n", name, label(s.Root), labels, value)
			})
		}
	}
	gauge("c2c_obligations", "Questions, tasks and reviews on record, by state.", func(s Stats, put func(string, int)) {
		put(`,state="open"`, s.Open-s.Overdue)
		put(`,state="overdue"`, s.Overdue)
		for _, how := range slices.Sorted(maps.Keys(s.Over)) {
			put(`,state=`+label(how), s.Over[how])
		}
	})
	for _, one := range []struct {
		name, help string
		of         func(SurfaceStats) int
	}{
		{"sent", "were sent", func(s SurfaceStats) int { return s.Sent }},
		{"pushed", "were rung for", func(s SurfaceStats) int { return s.Pushed }},
		{"observed", "were read", func(s SurfaceStats) int { return s.Observed }},
		{"acknowledged", "got a reply of any kind", func(s SurfaceStats) int { return s.Acknowledged }},
		{"answered", "were answered", func(s SurfaceStats) int { return s.Answered }},
		{"in_time", "were answered when they were due, or before", func(s SurfaceStats) int { return s.InTime }},
	} {
		gauge("c2c_obligations_"+one.name, "Obligations that "+one.help+", by surface_support of the session.", func(s Stats, put func(string, int)) {
			for _, surface := range s.Surfaces {
				put(`,surface_support=`+label(surface.Surface), one.of(surface))
			}
		})
	}
	prometheusLatencies(&text, all)
	_, err := io.WriteString(w, text.String())
	return err
}

func prometheusLatencies(text *strings.Builder, all []Stats) {
	for _, one := range []struct {
		name, help string
		of         func(SurfaceStats) Latency
	}{
		{"push", "was rung for", func(s SurfaceStats) Latency { return s.Push }},
		{"observe", "was read", func(s SurfaceStats) Latency { return s.Observe }},
		{"acknowledge", "got a reply of any kind", func(s SurfaceStats) Latency { return s.Ack }},
		{"answer", "was answered", func(s SurfaceStats) Latency { return s.Answer }},
	} {
		name := "c2c_obligation_" + one.name + "_seconds"
		fmt.Fprintf(text, "# HELP %s Time from the send of a message until it %s.\n# TYPE %[1]s summary\n", name, one.help)
		for _, s := range all {
			for _, surface := range s.Surfaces {
				l := one.of(surface)
				if l.Count == 0 {
					continue
				}
				labels := fmt.Sprintf("root=%s,surface_support=%s", label(s.Root), label(surface.Surface))
				for _, q := range []struct {
					part  string
					value float64
				}{{"0.5", l.P50}, {"0.95", l.P95}, {"1", l.Max}} {
					fmt.Fprintf(text, "%s{%s,quantile=%q} %g\n", name, labels, q.part, q.value)
				}
				fmt.Fprintf(text, "%s_sum{%s} %g\n", name, labels, l.Sum)
				fmt.Fprintf(text, "%s_count{%s} %d\n", name, labels, l.Count)
			}
		}
	}
}

// label writes the value of a label. The format has only these three escapes.
func label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "?")) + `"`
}
