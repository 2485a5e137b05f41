package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/internal/format"
)

// showStats shows what became of questions, and how soon they were handed over.
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
	if st.Total.Sent == 0 {
		return nil
	}
	fmt.Fprintln(w, "\tsent\trung\thanded\tacknowledged\thanded after (p50 / p95 / max)")
	for _, s := range append([]owed.SurfaceStats{st.Total}, st.Surfaces...) {
		took := "-"
		if s.Observed > 0 {
			took = seconds(s.Observe.P50) + " / " + seconds(s.Observe.P95) + " / " + seconds(s.Observe.Max)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", cmp.Or(s.Surface, "all"), s.Sent, s.Pushed, s.Observed, s.Acknowledged, took)
	}
	return w.Flush()
}

func seconds(s float64) string {
	if d := time.Duration(s * float64(time.Second)); d >= time.Minute {
		return format.Age(d)
	} else {
		return d.Round(10 * time.Millisecond).String()
	}
}
