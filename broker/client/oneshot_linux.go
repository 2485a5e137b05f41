package client

import (
	"fmt"
	"os"
	"strings"
)

// OneShot says whether a client's process ends with the answer to its one prompt. Its hooks bring what waits
// with that prompt, and a line that comes beside it might be answered by nobody.
func OneShot(client string, pid int) bool {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	p, _ := Find(client)
	return err == nil && p.isOneShot(strings.Split(string(cmdline), "\x00"))
}
