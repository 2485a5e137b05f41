package main

import (
	"fmt"
)

// man writes the man pages into a directory: c2c.1, and c2c-<verb>.1 for each verb. With - it writes only c2c.1, to standard output.
func (a *call) man() error {
	words, err := a.words()
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return fmt.Errorf("%w: into which directory?", errUsage)
	}
	if words[0] == "-" {
		return PrintMan(a.stdout)
	}
	n, err := WriteMan(words[0])
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "man pages written to %s: %d\n", words[0], n)
	return nil
}
