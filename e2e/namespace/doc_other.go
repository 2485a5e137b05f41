//go:build !linux

// Package namespace works only on Linux. Other systems have no namespaces.
package namespace
