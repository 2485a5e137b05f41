//go:build !linux

package serve

import "net/netip"

// connOwner finds no process: this system does not show which process has a connection.
func connOwner(local, remote netip.AddrPort) int { return 0 }

// connUser finds no user: this system does not show which user has a connection.
func connUser(local, remote netip.AddrPort) (uid int, ok, closed bool) { return 0, false, false }
