package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
)

// lineWidth is the greatest width of a line of the list, in columns.
const lineWidth = 80

func list(c *call, f *cli.Flags) action {
	all, allHosts, everywhere := f.Bool("all"), f.Bool("all-hosts"), f.Bool("everywhere")
	return func(ctx context.Context) error {
		switch {
		case *everywhere && (*allHosts || c.project != ""):
			return fmt.Errorf("%w: --everywhere stands alone, or with --all", errUsage)
		case *everywhere:
			return c.listEverywhere(ctx, *all)
		}
		c.meetDeadlines(ctx)
		rows, err := c.b.List(ctx)
		if err != nil {
			return err
		}
		c.b.AddTokens(rows)
		var broken []error // mailboxes that could not be read
		for _, r := range rows {
			if r.Error != "" {
				broken = append(broken, fmt.Errorf("read the mailbox of %s: %s", r.Alias, r.Error))
			}
		}
		if *allHosts {
			hosts, err := c.b.Hosts()
			return errors.Join(append(broken, err, c.showHosts(rows, hosts, *all))...)
		}
		more := "c2c list --all"
		if c.project != "" {
			more = "c2c list --project " + mail.Visible(c.project, "") + " --all"
		}
		err = c.show(rows, func() {
			c.printList(rows, *all, more, time.Now())
			if c.b.Split {
				c.printf("This clone was split from the others of its remote.\n")
			}
		})
		return errors.Join(append(broken, err)...)
	}
}

// printList prints the list of sessions. If all is true, the list also has ended sessions and
// session ids, and its lines may be long; else more is the command that shows those.
func (c *call) printList(rows []sessions.Listed, all bool, more string, now time.Time) {
	t := table{{"ALIAS", "NOW", "FOR", "MAIL", "OLDEST", "HANDED", "TOKENS", "CLIENT", "ROLE", "SESSION"}}
	ended, withMail := 0, 0
	for _, r := range rows {
		if r.State == sessions.Absent && !all {
			ended++
			if r.Waiting {
				withMail++
			}
			continue
		}
		t.add(r, now)
	}
	if !all {
		t.drop("SESSION")
	}
	if !slices.ContainsFunc(rows, func(r sessions.Listed) bool { return r.Tokens.Input > 0 }) {
		t.drop("TOKENS")
	}
	if len(t) > 1 {
		fmt.Fprint(c.stdout, t.text(all))
	} else {
		c.printf("(no sessions; %s%s)\n", cmp.Or(cli.Elsewhere(c.getenv, c.cwd, ""), cli.HowToBegin()), cli.OthersUsed(c.getenv, c.cwd))
	}
	for _, r := range rows {
		if len(r.Claims) > 0 {
			c.printf("%s has claimed %s\n", r.Alias, strings.Join(r.Claims, ", "))
		}
		if r.Note != "" {
			c.printf("%s: %s\n", r.Alias, r.Note)
		}
	}
	switch {
	case withMail > 0:
		c.printf("Ended and not shown: %d, %d of them with mail. %s shows them.\n", ended, withMail, more)
	case ended > 0:
		c.printf("Ended and not shown: %d. %s shows them.\n", ended, more)
	}
}

// tokenCell is how much the client's record says that the last request had.
func tokenCell(t client.Tokens) string {
	if t.Input == 0 {
		return "-"
	}
	return format.Short(t.Input)
}

// table has a head and a row for each session. The first cell is the alias, which may be long.
type table [][]string

func (t *table) add(r sessions.Listed, now time.Time) {
	ago := func(at time.Time) string {
		if at.IsZero() {
			return "-"
		}
		return format.Age(now.Sub(at))
	}
	does, waiting := string(r.Now.Does), "-"
	if r.Quiet {
		does += ", dnd"
	}
	if r.Waiting {
		waiting = strconv.Itoa(max(1, r.Count))
	}
	if r.Error != "" {
		waiting = "broken"
	}
	row := []string{r.Alias, does, ago(r.Now.Since), waiting, ago(r.Oldest), ago(r.LastRead), tokenCell(r.Tokens), r.Client, r.Role, r.ID}
	for i, cell := range row {
		row[i] = mail.Visible(cell, "")
	}
	*t = append(*t, row)
}

// drop removes a column.
func (t table) drop(title string) {
	at := slices.Index(t[0], title)
	for i, row := range t {
		t[i] = slices.Delete(row, at, at+1)
	}
}

// text returns the table with aligned cells. Unless wide is true, each line has at most lineWidth
// columns: a long alias stands on its own line, and a long role is cut.
func (t table) text(wide bool) string {
	const gap = 2
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	if !wide {
		room := lineWidth
		for _, w := range widths[1 : len(widths)-1] { // the last one is the role's
			room -= w + gap
		}
		widths[0] = 0
		for _, row := range t {
			if n := len(row[0]); n <= room {
				widths[0] = max(widths[0], n)
			}
		}
	}
	var out strings.Builder
	for _, row := range t {
		line := ""
		for i, cell := range row {
			if i == 0 && len(cell) > widths[0] {
				out.WriteString(cell + "\n")
				cell = ""
			}
			line += cell + strings.Repeat(" ", max(0, widths[i]-columns(cell))+gap)
		}
		if line = strings.TrimRight(line, " "); !wide {
			line = cut(line, lineWidth)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// cut returns the line, shortened to limit columns if it is longer. A shortened line ends with "…".
func cut(line string, limit int) string {
	if columns(line) <= limit {
		return line
	}
	taken := 0
	for i, r := range line {
		if taken += width(r); taken >= limit {
			return strings.TrimRight(line[:i], " ") + "…"
		}
	}
	return line
}

// columns returns how many columns of a terminal a line takes.
func columns(line string) (n int) {
	for _, r := range line {
		n += width(r)
	}
	return n
}

// wide has the first and last character of each block whose characters take two columns: East Asian
// scripts and pictures. The library that c2c watch uses knows each character. c2c itself does not
// use this library, because then every hook would load its tables.
var wide = [...][2]rune{{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}}

func width(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) { // combined with the letter before it, or invisible
		return 0
	}
	for _, block := range wide {
		if block[0] <= r && r <= block[1] {
			return 2
		}
	}
	return 1
}
