//go:build !linux

package sockets

import "net/netip"

// Owner finds nobody: this system does not say which process has a connection.
func Owner(local, remote netip.AddrPort) (pid, uid int, ok bool) { return 0, 0, false }

// OwnerUID finds nobody.
func OwnerUID(local, remote netip.AddrPort) (uid int, ok, closed bool) { return 0, false, false }
