package main

import (
	"fmt"
	"os"
	"path/filepath"

	"c2c/cmd/man"
)

// man writes the man pages into a directory: c2c.1, and c2c-<verb>.1 for each verb.
func (a *call) man() error {
	words, err := a.words()
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return fmt.Errorf("%w: into which directory?", errUsage)
	}
	dir := words[0]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pages := man.Pages()
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "man pages written to %s: %d\n", dir, len(pages))
	return nil
}
