//go:build !linux

package terminal

import (
	"fmt"
	"time"

	"c2c/internal/proc"
	"c2c/wake"
)

// readProcess returns an error, so that c2c types nothing: this system does not show which terminal
// a process has.
func readProcess(int) (proc.Stat, error) {
	return proc.Stat{}, fmt.Errorf("%w: this system does not show which terminal a process has", wake.ErrUnreachable)
}

func foreground(proc.Stat) (time.Time, error) { return time.Time{}, nil }

func device(string) (uint64, error) { return 0, nil }
