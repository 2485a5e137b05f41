package socket

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"c2c/wake"
)

// OurPort fails unless a process of this user listens at a TCP port of 127.0.0.1. Only Linux tells.
func OurPort(port int) error {
	data, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
	}
	return ourPort(data, port, os.Geteuid())
}

// ourPort takes /proc/net/tcp, see proc(5): the second field is the local address, the fourth the state, the eighth the user.
func ourPort(table []byte, port, uid int) error {
	const listens, local, all = "0A", "0100007F", "00000000"
	ours := false
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) < 8 || f[3] != listens || f[1] != fmt.Sprintf("%s:%04X", local, port) && f[1] != fmt.Sprintf("%s:%04X", all, port) {
			continue
		}
		if f[7] != strconv.Itoa(uid) {
			return fmt.Errorf("%w: another user listens at port %d", wake.ErrUnreachable, port)
		}
		ours = true
	}
	if !ours {
		return fmt.Errorf("%w: nobody listens at port %d", wake.ErrUnreachable, port)
	}
	return nil
}
