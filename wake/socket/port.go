package socket

import (
	"fmt"
	"io"
	"os"
	"strings"

	"c2c/internal/proc"
	"c2c/wake"
)

// OurPort returns nil if a process of this user, and no other user, listens on a TCP port of
// 127.0.0.1. Otherwise the error gives the reason. It works only on Linux.
func OurPort(port int) error {
	table, err := proc.TCPTable(0, "tcp")
	if err != nil {
		return fmt.Errorf("%w: who listens on port %d: %v", wake.ErrUnreachable, port, err)
	}
	defer table.Close()
	return ourPort(table, port, os.Geteuid())
}

func ourPort(table io.Reader, port, uid int) error {
	ours := false
	for s := range proc.TCPSockets(table, port) {
		address, _, _ := strings.Cut(s.Local, ":")
		if s.State != proc.Listening || address != "0100007F" && address != "00000000" { // 127.0.0.1, or all addresses
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
