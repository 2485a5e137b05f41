package main

// widen has the stack of the goroutine grow at once to what most commands need, while it is nearly empty. It would grow in three or
// four steps, each of which copies what is there by then: a twentieth of a send. at is negative: the room itself is not touched.
//
//go:noinline
func widen(at int) byte {
	if at < 0 {
		return 0
	}
	var room [24 << 10]byte
	return room[at]
}
