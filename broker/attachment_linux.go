package broker

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// kernels lists the file systems in which the kernel makes the files. Such a file may be secret: in
// /proc, the environment of each process is a regular file.
var kernels = []int64{unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
	unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC}

// isFromKernel reports whether a file is in one of these file systems. It also returns true if the
// file system cannot be found out. It checks the open file and not its path, because /proc may be
// mounted anywhere.
func isFromKernel(f *os.File) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &fs) != nil || slices.Contains(kernels, int64(fs.Type))
}
