// Package random makes random bytes for message ids, from the operating system. crypto/rand does the same, but it links the
// generators of Go's FIPS 140 module and math/big, which every hook would load.
package random

import (
	"fmt"
	"io"
	"os"
)

// Fill fills b with unpredictable bytes. If there is no source, it panics, like crypto/rand: with predictable ids, another program
// could use an id before its message is stored.
func Fill(b []byte) {
	if err := fill(b); err != nil {
		panic(fmt.Sprintf("read random bytes: %v", err))
	}
}

// fromDevice reads /dev/urandom, for a system without getrandom or a sandbox that refuses it.
func fromDevice(b []byte) error {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, b)
	return err
}
