package format

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"c2c/inbox/mail"
)

// severity is the order of findings in a printed report. Problems come last, because in a terminal
// a person looks at the end first.
var severity = []Status{OK, Warning, Problem}

// maxSessions is how many sessions a report names.
const maxSessions = 4

// Problems counts the problems in a report. Those that say the same are one, as Print prints them.
func Problems(report []Finding) (n int) {
	for _, f := range facts(report) {
		if f.Status == Problem {
			n++
		}
	}
	return n
}

// OfNobody turns the problems of one client into warnings. It is for a client that probably nobody
// uses: its program is not on the PATH, and it has no session. The findings stay in the report,
// because an editor may still run the client.
func OfNobody(found []Finding) []Finding {
	for i := range found {
		if found[i].Status == Problem {
			found[i].Status = Warning
		}
	}
	return found
}

// Print prints the problems and warnings, and the number of the other findings. If verbose is set,
// it prints all findings.
func Print(out io.Writer, report []Finding, verbose bool) {
	lines := shorten(facts(report))
	if !verbose {
		lines = slices.DeleteFunc(lines, func(f Finding) bool { return f.Status == OK })
		well := 0
		for _, f := range report {
			if f.Status == OK {
				well++
			}
		}
		defer fmt.Fprintf(out, "%s ok (--verbose shows them)\n", Count(well, "check", "checks"))
	}
	sort.SliceStable(lines, func(i, j int) bool {
		return slices.Index(severity, lines[i].Status) < slices.Index(severity, lines[j].Status)
	})
	for _, f := range lines {
		what := strings.TrimSpace(f.Client + " " + f.Part)
		where := ""
		if f.Path != "" {
			where = " (" + f.Path + ")"
		}
		line := fmt.Sprintf("%-8s %s: %s%s", f.Status, what, f.Detail, where)
		fmt.Fprintln(out, mail.Visible(line, "")) // the text may come from a file that was edited by hand, and must not begin a new line
	}
}

// shorten makes a report fit on a screen: if there are many sessions, it names only the first few.
func shorten(report []Finding) (lines []Finding) {
	sessions := 0
	for _, f := range report {
		if f.Session != "" {
			if sessions++; sessions == maxSessions+1 {
				f.Part, f.Detail = "more sessions", "c2c doctor --json shows all of them"
			} else if sessions > maxSessions {
				continue
			}
		}
		lines = append(lines, f)
	}
	return lines
}

// facts returns a report in which the problems and warnings that say the same of several clients,
// or of several parts of a client, are one.
func facts(report []Finding) (all []Finding) {
	same := map[Finding][]Finding{} // by a finding without the client and the part
	factOf := func(f Finding) Finding {
		return Finding{Status: f.Status, Detail: strings.ReplaceAll(f.Detail, "c2c install "+f.Client, "c2c install")}
	}
	joins := func(f Finding) bool { return f.Client != "" && f.Session == "" && f.Status != OK }
	for _, f := range report {
		if joins(f) {
			same[factOf(f)] = append(same[factOf(f)], f)
		}
	}
	for _, f := range report {
		switch fact := factOf(f); {
		case !joins(f):
			all = append(all, f)
		case same[fact] != nil:
			all = append(all, joined(same[fact]))
			same[fact] = nil
		}
	}
	return all
}

// joined returns one finding for several that say the same of other clients or parts.
func joined(all []Finding) Finding {
	one := all[0]
	var clients, parts []string
	for _, f := range all {
		clients, parts = append(clients, f.Client), append(parts, f.Part)
		if f.Path != one.Path {
			one.Path = ""
		}
	}
	clients = slices.Compact(clients)
	if len(clients) > 1 {
		one.Detail = strings.ReplaceAll(one.Detail, "c2c install "+one.Client, "c2c install")
	}
	one.Client, one.Part = strings.Join(clients, ", "), strings.Join(slices.Compact(parts), ", ")
	if len(clients) > 1 && strings.Contains(one.Part, ", ") {
		one.Part = "setup"
	}
	return one
}
