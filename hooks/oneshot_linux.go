package hooks

import (
	"fmt"
	"os"
	"strings"
)

// OneShot says whether a client ends with the answer to its one prompt: `claude -p`. Its hooks bring what
// waits with that prompt, and a line that comes beside it might be answered by nobody.
func OneShot(pid int) bool {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && oneShot(strings.Split(string(cmdline), "\x00"))
}
