//go:build !linux

package main

// rings needs inotify, its limit.
func (b *bench) rings() error { return nil }
