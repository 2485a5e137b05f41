//go:build !linux

package procstat

// Listens is true: it cannot be found out here.
func Listens(int, int) bool { return true }
