//go:build !linux

package watch

// newSource has none: kqueue does not tell that a file was closed. So subscribers look once a second.
func newSource(func(id int)) source { return nil }
