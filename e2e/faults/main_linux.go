// Command faults runs c2c many times. In each run it makes another system call fail, or kills c2c
// at that call: the first openat, the second, and so on to the last fsync. After each run it
// checks, with ordinary commands, that nothing is lost, doubled or half written, and that each
// failure had an error message:
//
//	faults [-only scenario] [-fault fsync:error=EIO:when=2] [-j 2] <directory of c2c and c2cd>
//
// With -fault it makes only runs with that fault, and shows them in full. It needs strace.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// suite is one run over many scenarios.
type suite struct {
	bin, scratch string
	workers      int
	only         func(fault) bool // nil: all
	show         bool
}

func main() {
	only := flag.String("only", "", "only scenarios whose name contains this text")
	one := flag.String("fault", "", "only this fault, shown in full")
	workers := flag.Int("j", runtime.NumCPU(), "number of scenarios at once")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: faults [-only scenario] [-fault call:error=E:when=N] <directory of c2c>")
		os.Exit(2)
	}
	chosen := slices.DeleteFunc(scenarios(), func(s *scenario) bool { return !strings.Contains(s.name, *only) })
	if err := run(flag.Arg(0), chosen, *one, *workers); err != nil {
		fmt.Fprintf(os.Stderr, "faults: %v\n", err)
		os.Exit(1)
	}
}

func run(bin string, chosen []*scenario, one string, workers int) error {
	if err := permitted(); err != nil {
		return err
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "c2c-faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	t := &suite{bin: bin, scratch: scratch, workers: workers}
	if one != "" {
		t.only, t.show = func(f fault) bool { return f.String() == one }, true
	}
	rows, err := t.run(chosen)
	if err != nil {
		return err
	}
	return report(rows)
}

// row is the result of one scenario.
type row struct {
	scenario         *scenario
	calls            int // number of system calls that got a fault
	injected, missed int // runs with the fault, and runs that did not reach it
	findings         []string
}

// run works on several scenarios at once, each in a place of its own.
func (t *suite) run(chosen []*scenario) ([]row, error) {
	rows, errs := make([]row, len(chosen)), make([]error, len(chosen))
	next := make(chan int)
	var all sync.WaitGroup
	for range max(1, t.workers) {
		all.Go(func() {
			for i := range next {
				if rows[i], errs[i] = t.scenario(chosen[i], filepath.Join(t.scratch, fmt.Sprint(i))); errs[i] != nil {
					errs[i] = fmt.Errorf("%s: %w", chosen[i].name, errs[i])
				}
			}
		})
	}
	for i := range chosen {
		next <- i
	}
	close(next)
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// scenario makes the state before the command once, and restores it for each fault.
func (t *suite) scenario(s *scenario, dir string) (row, error) {
	w := row{scenario: s}
	p, err := newPlace(t.bin, dir)
	if err != nil {
		return w, err
	}
	if err := s.prepare(p); err != nil {
		return w, err
	}
	if p.before, err = p.read(""); err != nil {
		return w, err
	}
	all, err := p.faults(s)
	if err != nil {
		return w, err
	}
	if s.syncs && !slices.ContainsFunc(all, fault.isSync) {
		w.findings = append(w.findings, fmt.Sprintf("%s: it syncs nothing", s.name))
	}
	at := map[string]bool{}
	for _, f := range all {
		if t.only != nil && !t.only(f) {
			continue
		}
		at[fmt.Sprint(f.call, f.n)] = true
		if err := t.inject(p, s, f, &w); err != nil {
			return w, err
		}
	}
	w.calls = len(at)
	return w, errors.Join(p.fresh(s), os.RemoveAll(dir))
}

// tries is how often a run is tried. Sometimes Go's runtime moves c2c to another thread in the
// middle of a run, and strace counts in each thread. Then a fault does not come, or a count is too
// low.
const tries = 5

// faults runs the command without a fault, and returns the faults that are possible in it.
func (p *place) faults(s *scenario) (all []fault, err error) {
	for range tries {
		if err := p.fresh(s); err != nil {
			return nil, err
		}
		clean, err := p.trace(s, nil)
		if err != nil {
			return nil, err
		}
		if clean.code != 0 || clean.killed {
			return nil, fmt.Errorf("without a fault: exit %d: %s", clean.code, clean.stderr)
		}
		if found := faults(clean.calls); len(found) > len(all) {
			all = found
		}
		if p.edited, err = p.read("home", "project"); err != nil && !s.starts { // otherwise its files may just change
			return nil, err
		}
	}
	return all, p.fresh(s)
}

func (t *suite) inject(p *place, s *scenario, f fault, w *row) error {
	r := &result{}
	for range tries {
		if err := p.fresh(s); err != nil {
			return err
		}
		var err error
		if r, err = p.trace(s, &f); err != nil {
			return err
		}
		if r.hit || r.hung {
			break
		}
	}
	if w.injected++; !r.hit && !r.hung {
		w.missed++
		return nil
	}
	if t.show {
		trace, _ := os.ReadFile(p.dir + ".strace")
		fmt.Printf("%s%s\nexit %d, killed %v\nstdout: %s\nstderr: %s\n", trace, strings.Join(s.command, " "), r.code, r.killed, r.stdout, r.stderr)
	}
	v := &verdict{place: p, fault: f, run: r}
	v.reported()
	s.check(v)
	for _, found := range v.found {
		w.findings = append(w.findings, fmt.Sprintf("-only %q -fault %s: %s", s.name, f, found))
	}
	return nil
}

// report prints the table. It returns an error if there are findings.
func report(rows []row) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "calls\tfaults\tmissed\tfindings\t  scenario")
	var sum row
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s\n", r.calls, r.injected, r.missed, len(r.findings), r.scenario.name)
		sum.calls, sum.injected, sum.missed = sum.calls+r.calls, sum.injected+r.injected, sum.missed+r.missed
		sum.findings = append(sum.findings, r.findings...)
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  in all\n", sum.calls, sum.injected, sum.missed, len(sum.findings))
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range sum.findings {
		fmt.Println(line)
	}
	if len(sum.findings) > 0 {
		return fmt.Errorf("%d promises are broken; to repeat one: go run ./e2e/faults <the options before the colon> bin", len(sum.findings))
	}
	return nil
}
