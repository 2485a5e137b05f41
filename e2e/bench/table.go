package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	pairs   = 100
	warmUps = 3
)

// format is a row: what, its limit, then of both the median in ms, the ratio, what the ratio should be at most, and of
// both the 99th percentile.
const format = "| %-50s | %-38s | %8.2f | %8.2f | %6.2f | %5s | %8.2f | %8.2f |\n"

// figure is a thing that was measured in turn with its limit.
type figure struct {
	what, limit, aim string
	got, base        []float64 // ms
	tail             bool      // the ratio is that of the 99th percentiles
}

func (f figure) print() {
	ratio := at(f.got, 99) / at(f.base, 99)
	if !f.tail {
		ratios := make([]float64, len(f.got))
		for i := range ratios {
			ratios[i] = f.got[i] / f.base[i]
		}
		ratio = at(ratios, 50)
	}
	fmt.Printf(format, f.what, f.limit, at(f.got, 50), at(f.base, 50), ratio, f.aim, at(f.got, 99), at(f.base, 99))
}

// skip prints a row for what the programs of before cannot do. Any other error comes back.
func (f figure) skip(err error) error {
	failed := new(limitError)
	if !errors.As(err, &failed) {
		return err
	}
	text := []rune(strings.ReplaceAll(strings.Join(strings.Fields(failed.Error()), " "), "|", "/"))
	fmt.Printf("| %s | before, it fails: %s | | | | | | |\n", f.what, string(text[:min(len(text), 120)]))
	return nil
}

// limitError is the failure of what a thing is compared with.
type limitError struct{ err error }

func (e *limitError) Error() string { return e.err.Error() }
func (e *limitError) Unwrap() error { return e.err }

// timing does something once, or many times at once, and returns milliseconds.
type timing func() ([]float64, error)

func once(ms float64, err error) ([]float64, error) { return []float64{ms}, err }

// measure times a thing and its limit in turn. The first times fill the caches and do not count.
func (f *figure) measure(n, warmUps int, do, limit timing) error {
	f.got, f.base = nil, nil
	for i := range n + warmUps {
		t, err := do()
		if err != nil {
			return err
		}
		l, err := limit()
		if err != nil {
			return &limitError{err}
		}
		if i >= warmUps {
			f.got, f.base = append(f.got, t...), append(f.base, l...)
		}
	}
	return nil
}

func at(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*percent/100]
}

// heading says where and when, without which a figure says nothing.
func heading() string {
	cpu := "an unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(data), "model name\t: "); ok {
			cpu, _, _ = strings.Cut(rest, "\n")
		}
	}
	return fmt.Sprintf("# Performance\n\nWritten by `make bench` on %s: %d x %s, %s, %s.\n\n"+
		"Each row is measured in turn with its limit, process by process: %d pairs where nothing else is said.\n"+
		"The ratio is the median of the pairs' ratios, the aim is the most that it should be.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), cpu, runtime.GOOS, runtime.Version(), pairs)
}

func columns() {
	fmt.Println()
	fmt.Printf(strings.ReplaceAll(format, ".2f", "s"), "what", "limit", "p50 ms", "limit", "ratio", "aim", "p99 ms", "limit")
	fmt.Println("|---|---|---:|---:|---:|---:|---:|---:|")
}
