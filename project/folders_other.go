//go:build !linux || portable

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	entries, _ := os.ReadDir(above) // if it is private, its names stay as they are
	real := name
	for _, e := range entries {
		if e.Name() == name {
			return filepath.Join(above, name)
		}
		if strings.EqualFold(e.Name(), name) {
			real = e.Name()
		}
	}
	return filepath.Join(above, real)
}
