//go:build !linux

package claude

// OneShot does not know.
func OneShot(int) bool { return false }
