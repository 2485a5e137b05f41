package random

import "golang.org/x/sys/unix"

func fill(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Getrandom(b, 0)
		switch err {
		case nil:
			b = b[n:]
		case unix.EINTR:
		default:
			return fromDevice(b)
		}
	}
	return nil
}
