package doctor

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"c2c/format"
	"c2c/inbox/mail"
)

// severity is the order in which a report is printed: what asks for a person stands last, where the eye is.
var severity = []Status{OK, Warning, Problem}

// maxSessions is how many sessions a report tells of.
const maxSessions = 4

// Problems counts them.
func Problems(report []Finding) (n int) {
	for _, f := range report {
		if f.Status == Problem {
			n++
		}
	}
	return n
}

// OfNobody takes the problems of a client that is not installed here, and has no session, for less: they concern nobody. An
// editor may run a client that is on nobody's path, so they are not left out.
func OfNobody(found []Finding) []Finding {
	for i := range found {
		if found[i].Status == Problem {
			found[i].Status = Warning
		}
	}
	return found
}

// Print prints what asks for a person, and how much is well; verbose: all.
func Print(out io.Writer, report []Finding, verbose bool) {
	lines := shorten(report)
	if !verbose {
		lines = slices.DeleteFunc(lines, func(f Finding) bool { return f.Status == OK })
		well := 0
		for _, f := range report {
			if f.Status == OK {
				well++
			}
		}
		defer fmt.Fprintf(out, "%s ok (--verbose shows them)\n", format.Count(well, "check", "checks"))
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
		fmt.Fprintln(out, mail.Visible(line, "")) // an alias written by hand makes no line of its own
	}
}

// shorten fits a report on a screen: of many sessions the first few are told.
func shorten(report []Finding) (lines []Finding) {
	sessions := 0
	for _, f := range report {
		if f.Session != "" {
			if sessions++; sessions == maxSessions+1 {
				f.Part, f.Detail = "more sessions", "c2c doctor --json shows all"
			} else if sessions > maxSessions {
				continue
			}
		}
		lines = append(lines, f)
	}
	return lines
}
