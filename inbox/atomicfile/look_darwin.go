package atomicfile

import "golang.org/x/sys/unix"

// lookOnly opens a name to describe it, a FIFO too. O_NOFOLLOW, which openBeneath
// adds, refuses a symbolic link here: what is no file of ours is an error.
const lookOnly = unix.O_RDONLY | unix.O_NONBLOCK
