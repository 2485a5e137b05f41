// Command replace does one durable replace of a small file and nothing else.
// bench compares a send with it: replace <directory>
package main

import (
	"os"
	"strconv"
	"syscall"
)

const message = `{"from_alias":"birch","to_alias":"amber","content":"hello","ts":1763712345.123456,` +
	`"message_id":"01890a5d-ac96-774b-bcce-b302099a8057"}`

func main() {
	if err := replace(os.Args[1]); err != nil {
		os.Exit(1)
	}
}

// replace makes only the system calls that it needs, without package os.
func replace(path string) error {
	dir, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	tmp := "limit." + strconv.Itoa(os.Getpid())
	file, err := syscall.Openat(dir, tmp, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	if _, err := syscall.Write(file, []byte(message)); err != nil {
		return err
	}
	if err := syscall.Fsync(file); err != nil {
		return err
	}
	if err := syscall.Renameat(dir, tmp, dir, "limit"); err != nil {
		return err
	}
	return syscall.Fsync(dir)
}
