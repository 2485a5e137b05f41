// Package random makes random bytes for message ids. They come from the operating system. The package takes the place of crypto/rand,
// because crypto/rand links math/big and the generators of Go's FIPS 140 module, and every hook would load them.
package random

import (
	"fmt"
	"io"
	"os"
)

// Fill fills b with unpredictable bytes. If the system has no source of such bytes, it panics, like crypto/rand. With predictable
// bytes, another program could guess the id of a message, and use it before the message is stored.
func Fill(b []byte) {
	if err := fill(b); err != nil {
		panic(fmt.Sprintf("read random bytes: %v", err))
	}
}

// fromDevice fills b from /dev/urandom. It is for systems without getrandom, and for sandboxes that refuse getrandom.
func fromDevice(b []byte) error {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, b)
	return err
}
