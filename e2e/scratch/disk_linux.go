package scratch

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Disk is a file system (ext4 or xfs, named by System) in the file Image, mounted at Dir. Its power
// can be cut. Mounts need root.
type Disk struct{ System, Image, Dir string }

const diskSize = 2 << 30 // sparse; a nats-server sets aside room for each stream

// Make makes an empty file system.
func (d Disk) Make() error {
	if err := os.WriteFile(d.Image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(d.Image, diskSize); err != nil {
		return err
	}
	force := map[string]string{"ext4": "-F", "xfs": "-f"}[d.System]
	return Check(exec.Command("mkfs."+d.System, "-q", force, d.Image))
}

// Mount mounts the file system. After Cut the kernel first replays its log.
func (d Disk) Mount() error { return Check(exec.Command("mount", "-o", "loop", d.Image, d.Dir)) }

// Unmount unmounts the file system. It fails while a process uses it.
func (d Disk) Unmount() error { return Check(exec.Command("umount", d.Dir)) }

// Cut stops the file system without flushing its log: all data that was not on the disk is lost, as
// in a power cut.
func (d Disk) Cut() error {
	fd, err := unix.Open(d.Dir, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN have the same number, and the flag is the same too.
	const goingDown, noLogFlush = 0x8004587d, 2
	if err := unix.IoctlSetPointerInt(fd, goingDown, noLogFlush); err != nil {
		return fmt.Errorf("shut the file system down: %w", err)
	}
	return nil
}
