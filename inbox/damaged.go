package inbox

import "context"

// Damaged says whether something that waits cannot be read. It changes nothing: the next reader hands over the rest, and
// puts the file aside.
func (r *row) Damaged(ctx context.Context) (bool, error) {
	lk, err := r.lockToRead(ctx)
	if err != nil {
		return false, err
	}
	defer lk.Release()
	damaged := false
	err = r.eachWaiting(func(file []byte) bool {
		_, is := decode(file)
		damaged = damaged || is
		return false
	}, always, nil)
	return damaged, err
}
