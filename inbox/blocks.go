package inbox

import (
	"errors"
	"io/fs"
	"os"

	"c2c/internal/atomicfile"
)

// eachFile calls f with each file that has data after this place, newest first, until f returns
// false. The argument base of f is the place where the file begins.
func (a *snapshot) eachFile(place int64, f func(file *atomicfile.Handle, base int64) (more bool, err error)) error {
	file, base, end := a.newest, a.base, a.end()
	for i := len(a.bases) - 1; end > place; i-- {
		if file != nil {
			more, err := f(file, base)
			if file != a.newest {
				file.Close()
			}
			if err != nil || !more {
				return err
			}
		}
		if i < 0 {
			return nil
		}
		base, end = a.bases[i], base
		var err error
		file, err = a.old.OpenHandle(partName(base), os.O_RDONLY)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing file was pruned meanwhile
			return err
		}
	}
	return nil
}

// newestFirst calls f with the lines after a place, in blocks, newest first, until f returns false.
// The bytes are valid only during the call.
func (a *snapshot) newestFirst(place int64, f func(lines []byte) (more bool)) error {
	var r atomicfile.BackReader
	return a.eachFile(place, func(file *atomicfile.Handle, base int64) (bool, error) { return r.Read(file, place-base, f) })
}
