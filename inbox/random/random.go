// Package random makes the random bytes of message ids. They come from the operating system. crypto/rand gives the same, but it
// links the generators of Go's FIPS 140 module and math/big, which every hook would load.
package random

import (
	"fmt"
	"io"
	"os"
)

// Fill fills b with unpredictable bytes. Without a source of them it panics, like crypto/rand: another program could predict an id
// and use it before its message is stored.
func Fill(b []byte) {
	if err := fill(b); err != nil {
		panic(fmt.Sprintf("read random bytes: %v", err))
	}
}

// fromDevice is for a system without the system call, or a sandbox that refuses it.
func fromDevice(b []byte) error {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, b)
	return err
}
