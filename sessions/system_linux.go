//go:build !portable

package sessions

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"c2c/internal/proc"
)

// namespace identifies our PID namespace by its inode, the id of the boot, and the id of the machine
// if there is one. It returns "" if they are not known.
func namespace() string {
	inode, err := os.Readlink("/proc/self/ns/pid")
	if errors.Is(err, fs.ErrNotExist) {
		inode, err = "pid", nil // a kernel without namespaces
	}
	boot, berr := proc.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || berr != nil && !errors.Is(berr, fs.ErrNotExist) {
		return ""
	}
	machine, _ := proc.ReadFile("/etc/machine-id")
	return strings.Join(strings.Fields(inode+" "+string(boot)+" "+string(machine)), " ")
}
