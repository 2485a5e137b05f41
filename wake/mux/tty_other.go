//go:build !linux

package mux

import (
	"fmt"
	"time"

	"c2c/process/procstat"
	"c2c/wake"
)

// readProcess returns an error, so that mux types nothing: this system does not show which terminal a process has.
func readProcess(int) (procstat.Stat, error) {
	return procstat.Stat{}, fmt.Errorf("%w: this system does not show which terminal a process has", wake.ErrUnreachable)
}

func foreground(procstat.Stat) (time.Time, error) { return time.Time{}, nil }

func device(string) (uint64, error) { return 0, nil }

func environOf(int) (func(string) string, error) { return func(string) string { return "" }, nil }
