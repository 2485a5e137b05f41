//go:build !linux || portable

package sessions

// namespace returns a constant: all processes of the system share it.
func namespace() string { return "macos" }
