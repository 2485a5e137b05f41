//go:build !portable

package project

// onDisk returns the path: on Linux, a folder has one name.
func onDisk(path string) string { return path }
