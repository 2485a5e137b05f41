package atomicfile

import "golang.org/x/sys/unix"

// lookOnly opens a name to describe it, a symbolic link and a FIFO too.
const lookOnly = unix.O_PATH
