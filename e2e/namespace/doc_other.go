//go:build !linux

// Package namespace is for Linux alone: other systems have no such places.
package namespace
