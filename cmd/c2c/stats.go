package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/wake"
)

// stats shows what the mail of the project has cost, and what became of questions.
func stats(c *call, f *cli.Flags) action {
	since := f.Duration("since")
	*since = broker.CostTime
	return func(ctx context.Context) error {
		st, err := c.b.ReadStats(ctx, c.b.Now().Add(-*since))
		return errors.Join(err, c.show(st, func() { c.printStats(st, c.b.Now()) }))
	}
}

// shownPairs is how many pairs of sessions a person sees.
const shownPairs = 20

func (c *call) printStats(st broker.Stats, now time.Time) {
	costs := st.Mail
	c.printf("Since %s: %s handed over, %s bytes into contexts. %s.\n", clock(costs.Since),
		format.Count(costs.Total.Handed, "message", "messages"), format.Short(costs.Total.Context), waits(costs.Total, now))
	if len(costs.Rings) > 0 {
		since := ""
		if costs.RingsSince.After(costs.Since) {
			since = " since " + clock(costs.RingsSince)
		}
		c.printf("Rings%s: %s.\n", since, ringWords(costs.Rings))
	}
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	if len(costs.Sessions) > 0 {
		fmt.Fprintln(w, "\nSESSION\tSENT\tGOT\tBYTES\tAFTER (p50 / p95 / max)\tMAIL\tOLDEST\tRUNG\tTOKENS")
	}
	for _, s := range costs.Sessions {
		rang := 0
		for _, r := range s.Rings {
			if r.Outcome == wake.Rang {
				rang += r.Count
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\n", mail.Visible(s.Alias, ""), s.Sent, flowCells(s.Flow, now), rang, tokenCell(s.Tokens))
	}
	if len(costs.Pairs) > 0 {
		fmt.Fprintln(w, "\nFROM\tTO\tMESSAGES\tBYTES\tAFTER (p50 / p95 / max)\tMAIL\tOLDEST")
	}
	for _, p := range costs.Pairs[:min(len(costs.Pairs), shownPairs)] {
		fmt.Fprintf(w, "%s\t%s\t%s\n", mail.Visible(p.From, ""), mail.Visible(p.To, ""), flowCells(p.Flow, now))
	}
	w.Flush()
	if more := len(costs.Pairs) - shownPairs; more > 0 {
		c.printf("and %s more: --json shows all\n", format.Count(more, "pair", "pairs"))
	}
	c.printObligationStats(st.Stats)
}

func waits(f broker.Flow, now time.Time) string {
	if f.Waiting == 0 {
		return "Nothing waits"
	}
	return format.Count(f.Waiting, "message waits", "messages wait") + ", the oldest for " + format.Age(now.Sub(f.Oldest))
}

// flowCells has the cells of a table for one way of mail.
func flowCells(f broker.Flow, now time.Time) string {
	oldest := "-"
	if f.Waiting > 0 {
		oldest = format.Age(now.Sub(f.Oldest))
	}
	return fmt.Sprintf("%d\t%s\t%s\t%d\t%s", f.Handed, format.Short(f.Context), took(f.Handed, f.Took), f.Waiting, oldest)
}

func took(n int, l owed.Latency) string {
	if n == 0 {
		return "-"
	}
	return seconds(l.P50) + " / " + seconds(l.P95) + " / " + seconds(l.Max)
}

// ringWords names rings: 12 rang by socket, 1 failed by socket.
func ringWords(all []broker.Rings) string {
	var words []string
	for _, r := range all {
		words = append(words, strings.TrimSuffix(fmt.Sprintf("%d %s by %s", r.Count, r.Outcome, r.Method), " by "))
	}
	return mail.Visible(strings.Join(words, ", "), "")
}

func (c *call) printObligationStats(st owed.Stats) {
	var over []string
	for how, n := range st.Over {
		over = append(over, fmt.Sprintf("%d %s", n, strings.ReplaceAll(how, "-", " ")))
	}
	slices.Sort(over)
	line := fmt.Sprintf("open: %d, overdue: %d", st.Open, st.Overdue)
	if len(over) > 0 {
		line += "; over: " + strings.Join(over, ", ")
	}
	c.printf("\nQuestions, tasks and reviews on record: %s\n", line)
	if st.Total.Sent == 0 {
		return
	}
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\tsent\trung\thanded\tacknowledged\thanded after (p50 / p95 / max)")
	for _, s := range append([]owed.SurfaceStats{st.Total}, st.Surfaces...) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", cmp.Or(s.Surface, "all"), s.Sent, s.Pushed, s.Observed, s.Acknowledged, took(s.Observed, s.Observe))
	}
	w.Flush()
}

func seconds(s float64) string {
	if d := time.Duration(s * float64(time.Second)); d >= time.Minute {
		return format.Age(d)
	} else {
		return d.Round(10 * time.Millisecond).String()
	}
}
