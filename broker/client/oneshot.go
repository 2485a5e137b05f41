package client

import "slices"

// isOneShot says whether a process with these arguments ends with its answer to one prompt.
func (p Profile) isOneShot(argv []string) (is bool) {
	for _, arg := range argv {
		switch {
		case slices.Contains(p.Stream, arg):
			return false
		case arg == "--":
			return is
		}
		is = is || slices.Contains(p.OneShot, arg)
	}
	return is
}
