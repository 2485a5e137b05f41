package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds a program as a shell does, but not in a relative directory of the PATH, because
// there the owner of the current directory could choose the program. A name with a slash is a path;
// then LookPath only checks that the file is executable.
func LookPath(name string, getenv func(string) string) (path string, err error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %q on the PATH", name)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
		err = fmt.Errorf("%s is not an executable file", path)
	}
	return err
}
