package format

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// sendNeeds is less than what a large message needs: its mailbox's new file, and the entries of the
// archive and the log.
const sendNeeds = 64 << 10

// CheckDisk reports a problem if c2c cannot write below a directory. If the directory is not there
// yet, the one above it counts. It changes nothing.
func CheckDisk(dir string) []Finding {
	for _, err := os.Stat(dir); err != nil && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	const write = 2
	var disk syscall.Statfs_t
	err := syscall.Access(dir, write)
	if err == nil {
		err = syscall.Statfs(dir, &disk)
	}
	problem := Finding{Status: Problem, Part: "disk", Path: dir}
	switch free := disk.Bavail * uint64(disk.Bsize); {
	case errors.Is(err, syscall.EROFS):
		problem.Detail = "read-only, so mail cannot be sent or handed over: make it writable, or set HOME or C2C_MCP_BROKER_ROOT to another folder"
	case errors.Is(err, syscall.EACCES):
		problem.Detail = "this user may not write here, so mail cannot be sent or handed over: allow it, or set HOME or C2C_MCP_BROKER_ROOT to another folder"
	case err != nil || disk.Blocks == 0 || free >= sendNeeds: // what else is wrong, other checks report; without blocks, the disk does not tell its size
		return nil
	default:
		problem.Detail = fmt.Sprintf("full (%d bytes free), so mail cannot be sent: free some space", free)
	}
	return []Finding{problem}
}
