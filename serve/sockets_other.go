//go:build !linux

package serve

import "net/netip"

// Owner finds no process: this system does not show which process has a connection.
func ConnOwner(local, remote netip.AddrPort) (pid, uid int, ok bool) { return 0, 0, false }

// OwnerUID finds no user: this system does not show which user has a connection.
func ConnUser(local, remote netip.AddrPort) (uid int, ok, closed bool) { return 0, false, false }
