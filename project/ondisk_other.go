//go:build !linux || portable

package project

import (
	"os"
	"path/filepath"
	"slices"
)

// onDisk returns the path of a folder with each name as its parent folder has it. macOS also finds a
// folder by a name in another case or form of Unicode, and a shell keeps what its person typed.
func onDisk(path string) string {
	above, name := filepath.Dir(path), filepath.Base(path)
	if above == path {
		return path
	}
	above = onDisk(above)
	entries, _ := os.ReadDir(above) // if it is private, its names stay as they are
	own, err := os.Lstat(path)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
		return filepath.Join(above, name)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && os.SameFile(own, info) {
			name = e.Name()
		}
	}
	return filepath.Join(above, name)
}
