//go:build !linux

package hooks

// OneShot does not know.
func OneShot(int) bool { return false }
