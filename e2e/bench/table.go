package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// format is a row: what, its limit, then of both the median in ms, the median of the ratios pair by pair,
// what the ratio should be at most, and of both the 99th percentile.
const format = "| %-50s | %-38s | %8.2f | %8.2f | %6.2f | %5s | %8.2f | %8.2f |\n"

// figure is a thing that was measured in turn with its limit.
type figure struct {
	what, limit, aim string
	got, base        []float64 // ms
}

func (f figure) print() {
	ratios := make([]float64, len(f.got))
	for i := range ratios {
		ratios[i] = f.got[i] / f.base[i]
	}
	fmt.Printf(format, f.what, f.limit, at(f.got, 50), at(f.base, 50), at(ratios, 50), f.aim, at(f.got, 99), at(f.base, 99))
}

// measure times a and b in turn. Each returns milliseconds.
func (f figure) measure(pairs int, a, b func() (float64, error)) (figure, error) {
	for i := range pairs + warmUps {
		ta, err := a()
		if err != nil {
			return f, fmt.Errorf("%s: %w", f.what, err)
		}
		tb, err := b()
		if err != nil {
			return f, fmt.Errorf("%s: %w", f.limit, err)
		}
		if i >= warmUps {
			f.got, f.base = append(f.got, ta), append(f.base, tb)
		}
	}
	return f, nil
}

// warmUps are pairs that fill the caches and do not count.
const warmUps = 3

func at(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*percent/100]
}

func since(start time.Time) float64 { return float64(time.Since(start)) / float64(time.Millisecond) }

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
		"The ratio is the median of the pairs' ratios, the aim is the most it should be.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), cpu, runtime.GOOS, runtime.Version(), pairs)
}

func columns() {
	fmt.Printf(strings.ReplaceAll(format, ".2f", "s"), "what", "limit", "p50 ms", "limit", "ratio", "aim", "p99 ms", "limit")
	fmt.Println("|---|---|---:|---:|---:|---:|---:|---:|")
}
