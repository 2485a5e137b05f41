package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/internal/format"
)

// showStats shows how soon questions were rung, handed over and answered.
func (c *call) showStats(ctx context.Context) error {
	st, err := owed.ReadStats(ctx, c.b.Registry)
	if err != nil {
		return err
	}
	if c.json {
		return cli.JSON(c.stdout, st)
	}
	return printStats(c.stdout, st)
}

func printStats(out io.Writer, st owed.Stats) error {
	var over []string
	for how, n := range st.Over {
		over = append(over, fmt.Sprintf("%d %s", n, strings.ReplaceAll(how, "-", " ")))
	}
	slices.Sort(over)
	line := fmt.Sprintf("open: %d, overdue: %d", st.Open, st.Overdue)
	if len(over) > 0 {
		line += "; over: " + strings.Join(over, ", ")
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, line)
	columns := append([]owed.SurfaceStats{st.Total}, st.Surfaces...)
	if st.Total.Sent == 0 {
		return nil
	}
	row := func(name string, cell func(owed.SurfaceStats) string) {
		cells := []string{name}
		for _, s := range columns {
			cells = append(cells, cell(s))
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	row("", func(s owed.SurfaceStats) string {
		if s.Surface == "" {
			return "all"
		}
		return s.Surface
	})
	count := func(name string, of func(owed.SurfaceStats) int) {
		row(name, func(s owed.SurfaceStats) string { return strconv.Itoa(of(s)) })
	}
	took := func(name string, of func(owed.SurfaceStats) owed.Latency) {
		row(name, func(s owed.SurfaceStats) string { return latencyText(of(s)) })
	}
	count("sent", func(s owed.SurfaceStats) int { return s.Sent })
	count("rung", func(s owed.SurfaceStats) int { return s.Pushed })
	count("handed", func(s owed.SurfaceStats) int { return s.Observed })
	count("acknowledged", func(s owed.SurfaceStats) int { return s.Acknowledged })
	count("answered", func(s owed.SurfaceStats) int { return s.Answered })
	count("in time", func(s owed.SurfaceStats) int { return s.InTime })
	row("p50 / p95 / max", func(owed.SurfaceStats) string { return "" })
	took("until rung", func(s owed.SurfaceStats) owed.Latency { return s.Push })
	took("until handed", func(s owed.SurfaceStats) owed.Latency { return s.Observe })
	took("until acknowledged", func(s owed.SurfaceStats) owed.Latency { return s.Ack })
	took("until answered", func(s owed.SurfaceStats) owed.Latency { return s.Answer })
	return w.Flush()
}

func latencyText(l owed.Latency) string {
	if l.Count == 0 {
		return "-"
	}
	var parts []string
	for _, seconds := range []float64{l.P50, l.P95, l.Max} {
		d := time.Duration(min(seconds, 1e9) * float64(time.Second)) // the time may be huge if the writer's clock was wrong
		if d < time.Minute {
			parts = append(parts, d.Round(10*time.Millisecond).String())
		} else {
			parts = append(parts, format.Age(d))
		}
	}
	return strings.Join(parts, " / ")
}
