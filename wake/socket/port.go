package socket

import (
	"fmt"
	"iter"
	"os"
	"strings"

	"c2c/internal/proc"
	"c2c/wake"
)

// OurPort returns nil if a process of this user, and no other user, listens on a TCP port of
// 127.0.0.1. Otherwise the error gives the reason.
func OurPort(port int) error {
	return ourPort(proc.TCPSockets(0, port), port, os.Geteuid(), proc.AllSockets)
}

// ourPort takes a socket that listens on all addresses only if it sees all sockets: another user may
// listen on 127.0.0.1 as well, and would get what c2c writes.
func ourPort(sockets iter.Seq[proc.TCPSocket], port, uid int, all bool) error {
	ours := false
	for s := range sockets {
		address, _, _ := strings.Cut(s.Local, ":")
		if s.State != proc.Listening || address != "0100007F" && (address != "00000000" || !all) { // 127.0.0.1, or all addresses
			continue
		}
		if s.UID != uid {
			return fmt.Errorf("%w: another user listens on port %d", wake.ErrUnreachable, port)
		}
		ours = true
	}
	if !ours {
		return fmt.Errorf("%w: no process listens on port %d", wake.ErrUnreachable, port)
	}
	return nil
}
