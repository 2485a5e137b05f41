//go:build !linux || portable

package atomicfile

// holder returns "": this system does not show which process holds a lock.
func holder(string) string { return "" }
