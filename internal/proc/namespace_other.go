//go:build !linux || portable

package proc

func Namespace(int) string { return "" }

const AllSockets = false
