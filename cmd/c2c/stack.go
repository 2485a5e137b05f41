package main

// widen has the stack of the goroutine grow at once to what most commands need, while it is nearly empty. It would grow in three or
// four steps and copy itself each time, which takes a twentieth of a send. at is negative, so the room itself is not touched.
//
//go:noinline
func widen(at int) byte {
	if at < 0 {
		return 0
	}
	var room [24 << 10]byte
	return room[at]
}
