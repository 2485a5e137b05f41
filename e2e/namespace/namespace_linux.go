// Package namespace runs a test in user and mount namespaces of its own. There the test may mount
// file systems without being root, and other processes do not see them.
package namespace

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"c2c/e2e/need"
)

// Enter runs the test again, in user and mount namespaces of its own. In the namespaces Enter
// returns true. Outside it waits for that run and returns false; then the test must return.
func Enter(t *testing.T) bool {
	t.Helper()
	if os.Getenv("C2C_TEST_NAMESPACE") != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "C2C_TEST_NAMESPACE=1", "C2C_TEST_SKIPPED=") // only the test outside records a skip
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		t.Fatalf("%v\n%s", err, out)
	case err != nil:
		refused(t, err.Error())
	case !bytes.Contains(out, []byte("--- PASS: "+t.Name())):
		refused(t, string(out))
	}
	return false
}

// refused skips the test because the kernel, or a container around the test, refuses namespaces or
// mounts.
func refused(t *testing.T, why string) {
	t.Helper()
	why = "allow user namespaces (sysctl user.max_user_namespaces must not be 0, " +
		"kernel.apparmor_restrict_unprivileged_userns not 1): " + string(bytes.Join(bytes.Fields([]byte(why)), []byte(" ")))
	need.Skip(t, why)
}

// Disk mounts a file system of a size such as "1m" until the end of the test.
func Disk(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=700"); err != nil {
		refused(t, "mount: "+err.Error())
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}
