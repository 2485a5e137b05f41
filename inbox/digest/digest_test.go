package digest

import (
	"bytes"
	"crypto/sha256"
	"testing"
)

// Files that older versions wrote have names that crypto/sha256 gave.
func TestASumIsThatOfTheStandardLibrary(t *testing.T) {
	text := make([]byte, 1000)
	for i := range text {
		text[i] = byte(i*7 + i/251)
	}
	for n := range text {
		if got, want := Sum256(text[:n]), sha256.Sum256(text[:n]); got != want {
			t.Fatalf("%d bytes: %x, want %x", n, got, want)
		}
	}
}

func TestASumMayBeAskedForInBetween(t *testing.T) {
	for _, step := range []int{1, 3, 63, 64, 65, 200} {
		d, text := New(), bytes.Repeat([]byte("0123456789"), 100)
		for at := 0; at < len(text); at += step {
			part := text[at:min(at+step, len(text))]
			if n, err := d.Write(part); n != len(part) || err != nil {
				t.Fatalf("wrote %d of %d: %v", n, len(part), err)
			}
			if got, want := d.Sum(), sha256.Sum256(text[:at+len(part)]); got != want {
				t.Fatalf("steps of %d, %d bytes: %x, want %x", step, at+len(part), got, want)
			}
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("abc"), 2)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = min(max(cut, 0), len(text))
		d := New()
		d.Write(text[:cut])
		d.Write(text[cut:])
		if got, want := d.Sum(), sha256.Sum256(text); got != want {
			t.Fatalf("%q in two writes, %d bytes first: %x, want %x", text, cut, got, want)
		}
	})
}
