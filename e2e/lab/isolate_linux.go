package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageEnv tells a copy of the test binary, which the binary has started, its stage of the
// isolation.
const stageEnv = "C2C_E2E_STAGE"

// Isolate separates the test run from the machine: network, mounts, process ids. It runs the test
// binary twice more. In the innermost copy, which is isolated, it returns with isolated true; in
// the other processes it returns the exit status for TestMain. /tmp becomes an empty file system,
// but the directories in keep stay reachable.
func Isolate(keep ...string) (status int, isolated bool, err error) {
	switch os.Getenv(stageEnv) {
	case "":
		status, err = enterNamespaces()
		return status, false, err
	case "init":
		if err := prepareNamespace(keep); err != nil {
			return 1, false, err
		}
		status, err = runAsInit()
		return status, false, err
	}
	return 0, true, os.Unsetenv(stageEnv)
}

// enterNamespaces starts the copy that becomes process 1 of the new namespaces and waits for it.
func enterNamespaces() (int, error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), stageEnv+"=init")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if os.Geteuid() != 0 {
		// Only the owner of a user namespace may make the other namespaces. Inside, that user is
		// root; outside, nothing changes.
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("start in namespaces of its own (user %d): %w\n%s", os.Geteuid(), err, refusedHint)
	}
	// go test ends a run that takes too long with SIGQUIT, and expects a dump of the tests'
	// goroutines in the output.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

const refusedHint = `The real clients run only where they cannot reach the network. Either run as root, or allow user namespaces:
  sysctl user.max_user_namespaces                          (must not be 0)
  sysctl kernel.unprivileged_userns_clone                  (Debian: 1)
  sysctl kernel.apparmor_restrict_unprivileged_userns      (Ubuntu: 0)
In a container, namespaces need --privileged or an own seccomp profile.`

// prepareNamespace starts the loopback interface, and mounts an empty /tmp and a /proc of this
// process tree.
func prepareNamespace(keep []string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	// Mounts must not propagate back to the machine.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := privateTmp(append(keep, cwd, filepath.Dir(exe))); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return os.Chdir(cwd)
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// privateTmp mounts an empty /tmp. It binds those directories of the machine's /tmp into it that
// the tests need.
func privateTmp(keep []string) error {
	type kept struct {
		path string
		fd   int
	}
	var binds []kept
	for _, path := range keep {
		if !strings.HasPrefix(path, "/tmp/") {
			continue
		}
		// Through the descriptor the directory can be reached after the mount has hidden its name.
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %q: %w", path, err)
		}
		defer unix.Close(fd)
		binds = append(binds, kept{path, fd})
	}
	if err := unix.Mount("c2c-e2e", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("mount /tmp: %w", err)
	}
	for _, b := range binds {
		if err := os.MkdirAll(b.path, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", b.fd), b.path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %q: %w", b.path, err)
		}
	}
	return nil
}

// runAsInit starts the tests, and reaps every orphan until they end. Otherwise clients and their
// daemons would stay as zombies, and c2c would take a dead session for a living one.
func runAsInit() (int, error) {
	exe, err := os.Executable()
	if err != nil {
		return 1, err
	}
	if err := os.Setenv(stageEnv, "tests"); err != nil {
		return 1, err
	}
	// Do not use exec.Cmd: its Wait and the loop below would reap each other's children.
	tests, err := os.StartProcess(exe, os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			syscall.Kill(tests.Pid, s.(syscall.Signal))
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 1, fmt.Errorf("wait for the tests: %w", err)
		case pid == tests.Pid && status.Signaled():
			return 1, fmt.Errorf("the tests were ended by %v", status.Signal())
		case pid == tests.Pid:
			return status.ExitStatus(), nil
		}
	}
}

// Stop kills a process that is not our child, and returns when the process has ended.
func Stop(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return err
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if err != unix.EINTR {
			return err
		}
	}
}
