package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// report returns the text of the page: where and when it was measured, and the table.
func (b *bench) report(results []result) string {
	var page strings.Builder
	cpu := "an unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(data), "model name\t: "); ok {
			cpu, _, _ = strings.Cut(rest, "\n")
		}
	}
	load, _ := os.ReadFile("/proc/loadavg") // a load above the number of processors spoils the figures
	fmt.Fprintf(&page, "Written by `make bench` on %s: %d x %s, %s, %s, load %.14s.\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(),
		cpu, runtime.GOOS, runtime.Version(), load)
	page.WriteString(`Each row has mail of its own, and is measured in turn with its limit. The ratio is that of the lower quartiles; ± is
how far off it may be (99.7 %). The aim is the largest ratio that the row should have, or the largest figure if it has no
limit. A row is marked **above** when it is certainly above its aim; then ` + "`make bench`" + ` fails.
`)
	fmt.Fprintf(&page, "\n%s\n", b.beside)
	page.WriteString("\n| what | unit | p50 | p99 | limit | its p50 | ratio | ± | aim | | rounds | beside |")
	if b.before != nil {
		page.WriteString(" before | now against it | |")
	}
	page.WriteString("\n|---|---|---:|---:|---|---:|---:|---:|---:|---|---:|---:|")
	if b.before != nil {
		page.WriteString("---:|---:|---|")
	}
	page.WriteString("\n")
	for _, res := range results {
		page.WriteString(res.line())
	}
	for _, way := range ways() {
		if way.missing != "" {
			fmt.Fprintf(&page, "\nMail over %s was not measured: %s.\n", way.name, way.missing)
		}
	}
	return page.String()
}

// line returns a row of the table.
func (r result) line() string {
	value := func(ms float64) string { return number(r.value(ms)) }
	limit, ratio := "| |", number(r.ratios.mid)
	if r.against == nil {
		ratio = ""
	} else {
		limit = fmt.Sprintf("| %s | %s", r.limit, value(at(r.base, 50)))
	}
	aim, off, verdict, other := "", "", "", ""
	if r.aim > 0 {
		aim = fmt.Sprint(r.aim)
	}
	if r.rounds > 1 && r.ratios.mid > 0 {
		off = fmt.Sprintf("%.0f %%", 50*(r.ratios.high-r.ratios.low)/r.ratios.mid)
	}
	if r.above() {
		verdict = "**above**"
	}
	if r.beside != nil && r.besideValue > 0 {
		other = value(r.besideValue)
	}
	line := fmt.Sprintf("| %s | %s | %s | %s %s | %s | %s | %s | %s | %d | %s |", r.name, cmp.Or(r.unit, "ms"), value(at(r.got, 50)),
		value(at(r.got, 99)), limit, ratio, off, aim, verdict, r.rounds, other)
	switch {
	case r.skipped != nil:
		line += " it fails | | |"
	case r.before.mid > 0:
		slower := ""
		if r.slower() {
			slower = "**slower**"
		}
		line += fmt.Sprintf(" %s | %.2f | %s |", value(r.beforeValue), r.before.mid, slower)
	}
	return line + "\n"
}

// value returns the figure as the table shows it. For the unit msg/s it turns milliseconds for a
// message into messages in a second.
func (r row) value(figure float64) float64 {
	if r.unit == "msg/s" {
		return 1000 / figure
	}
	return figure
}

func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

const (
	begins = "<!-- make bench writes from here -->\n"
	ends   = "<!-- to here -->\n"
)

// writePage replaces the text between the two marks. After a crash the page is either the old or
// the new one.
func writePage(path, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), begins)
	_, after, ok2 := strings.Cut(rest, ends)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the two marks around the figures", path)
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(tmp, []byte(before+begins+"\n"+text+"\n"+ends+after), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
