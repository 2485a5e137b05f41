//go:build !linux || portable

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

func identity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// onDisk returns the path of a folder with each name as its parent folder has it. Most file systems
// of macOS also find a folder by a name in another case, and a shell keeps what its person typed.
func onDisk(path string) string {
	above, name := filepath.Dir(path), filepath.Base(path)
	if above == path {
		return path
	}
	above = onDisk(above)
	names := namesIn(above)
	if own, err := os.Lstat(path); err == nil && !slices.Contains(names, name) {
		for _, other := range names {
			if info, err := os.Lstat(filepath.Join(above, other)); err == nil && os.SameFile(own, info) {
				name = other
			}
		}
	}
	return filepath.Join(above, name)
}

func namesIn(path string) []string {
	dir, err := os.Open(path)
	if err != nil {
		return nil // the folder may be private: its names stay as they are
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return names
}
