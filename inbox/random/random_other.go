//go:build !linux

package random

func fill(b []byte) error { return fromDevice(b) }
