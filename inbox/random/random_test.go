package random

import (
	"bytes"
	"testing"
)

func TestNoTwoFillsAreAlike(t *testing.T) {
	seen := map[[16]byte]bool{}
	for range 1000 {
		var b [16]byte
		Fill(b[:])
		if seen[b] {
			t.Fatalf("%x came twice", b)
		}
		seen[b] = true
	}
}

// A kernel may give less than it is asked for.
func TestTheWholeIsFilled(t *testing.T) {
	for name, source := range map[string]func([]byte) error{"fill": fill, "device": fromDevice} {
		for _, n := range []int{0, 1, 10, 300, 1 << 20} {
			b := make([]byte, n)
			if err := source(b); err != nil {
				t.Fatalf("%s: %d bytes: %v", name, n, err)
			}
			if tail := b[max(0, n-64):]; n >= 64 && bytes.Equal(tail, make([]byte, len(tail))) {
				t.Errorf("%s: the end of %d bytes is empty", name, n)
			}
		}
	}
}
