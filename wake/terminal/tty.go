package terminal

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"c2c/internal/proc"
	"c2c/wake"
)

func readProcess(pid int) (proc.Stat, error) {
	p, err := proc.Read(pid)
	if err != nil {
		return p, fmt.Errorf("%w: process %d: %w", wake.ErrUnreachable, pid, err)
	}
	if p.Terminal == 0 {
		return p, fmt.Errorf("%w: process %d has no terminal", wake.ErrUnreachable, pid)
	}
	return p, nil
}

// foreground returns nil if a key on the terminal, whose device is at path, would reach the client
// itself. It returns an error if the key would reach a command that the client runs there, such as
// an editor. The result
// read is the latest time at which the client may have read from the terminal. foreground does not
// notice a command in the client's own process group; only the screen shows such a command.
func foreground(p proc.Stat, path string) (read time.Time, err error) {
	if p.Group != p.Foreground {
		return read, errors.New("another program has its terminal")
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return read, fmt.Errorf("open its terminal: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || rdev(st) != p.Terminal {
		return read, fmt.Errorf("%s is not its terminal", path)
	}
	mode, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return read, fmt.Errorf("ask for the mode of its terminal: %w", err)
	}
	if mode.Lflag&unix.ICANON != 0 {
		return read, errors.New("it does not read single keys")
	}
	// Linux keeps only the time of the first read in each step of eight seconds
	// (tty_update_time), so that nobody learns the length of a password. So the last read may be as
	// late as the end of that step.
	sec, _ := st.Atim.Unix()
	return time.Unix(sec&^7+8, 0).Add(kernelTick), nil
}

// kernelTick is how much too early the time of a read may be: the kernel takes that time from a
// coarse clock.
const kernelTick = 10 * time.Millisecond

// device returns the device number of the terminal at path.
func device(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("%w: no terminal at %.100q", wake.ErrUnreachable, path)
	}
	return rdev(st), nil
}

func rdev(st unix.Stat_t) uint64 { return uint64(uint32(st.Rdev)) }
