package install

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// FollowLink returns the target of the link at path, or path itself. Unlike filepath.EvalSymlinks,
// it returns no error if the target does not exist.
func FollowLink(path string) (string, error) {
	for target, hops := path, 0; ; hops++ {
		link, err := os.Readlink(target)
		switch {
		case Absent(err), errors.Is(err, syscall.EINVAL): // nothing is there, or something that is not a link
			return target, nil
		case err != nil:
			return "", err
		case hops == 40:
			return "", fmt.Errorf("read %s: too many symbolic links", path)
		}
		if !filepath.IsAbs(link) {
			link = filepath.Dir(target) + "/" + link // without Join: what ".." means depends on links
		}
		dir, name := filepath.Split(link)
		target = filepath.Join(RealPath(dir), name)
	}
}

// RealPath is filepath.EvalSymlinks for a path whose last elements may be missing.
func RealPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || path == filepath.Dir(path) {
		return cmp.Or(real, path)
	}
	return filepath.Join(RealPath(filepath.Dir(path)), filepath.Base(path))
}
