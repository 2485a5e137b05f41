package inbox

import (
	"slices"

	"c2c/internal/atomicfile"
)

// newestFirst calls f with the lines after a place, in blocks, newest first, until f returns false.
// The bytes are valid only during the call.
func (a *snapshot) newestFirst(place int64, f func(lines []byte) (more bool)) (err error) {
	var r atomicfile.BackReader
	more, end := true, a.base
	if a.newest != nil {
		more, err = r.Read(a.newest, place-a.base, f)
	}
	for _, base := range slices.Backward(a.bases) {
		if err != nil || !more || end <= place {
			break
		}
		err = a.withPart(base, func(file *atomicfile.Handle) (err error) {
			more, err = r.Read(file, place-base, f)
			return err
		})
		end = base
	}
	return err
}
