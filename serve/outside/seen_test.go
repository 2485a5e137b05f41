package outside

import (
	"encoding/hex"
	"errors"
	"testing"

	"c2c/internal/atomicfile"
)

// A line of 66ed395 has no hash of the body, and one that was cut off has half of it: nothing tells
// whether the body is the same. A sender that repeats a request must not be told that it is wrong,
// and nothing is stored twice.
func TestARequestThatAnOlderVersionTookIsTakenAgain(t *testing.T) {
	from := Sender{Name: "ci", Scheme: GitHub}
	sum := webhookSumOf(from, "proof")
	id := hex.EncodeToString(sum[:seenSize])
	for _, line := range []string{id + "\n", id, id + " \n", id + " 00112233\n"} {
		for _, file := range []string{"ci.log", "ci.old"} {
			dir, err := atomicfile.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			sub, err := dir.Sub(seenDir, true)
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			if err := sub.Write(file, []byte("00000000000000000000000000000000\n"+line)); err != nil {
				t.Fatal(err)
			}
			s := &seen{dir: dir}
			again, err := s.storeOnce(from, "proof", []byte("{}"), func() error { t.Error("stored again"); return nil })
			if err != nil || !again {
				t.Errorf("%s with %q: again %t, %v", file, line, again, err)
			}
		}
	}
}

// Whatever stands in the file of what was seen, a request is stored at most once, and remembered
// with its body.
func FuzzSeenFile(f *testing.F) {
	for _, s := range []string{"", "00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff\n", "half", "\n\n", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, err := atomicfile.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		sub, err := dir.Sub(seenDir, true)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		if err := sub.Write("ci.log", data); err != nil {
			t.Fatal(err)
		}
		s, stored := &seen{dir: dir}, 0
		store := func() error { stored++; return nil }
		from := Sender{Name: "ci", Scheme: GitHub}
		for _, body := range []string{"a", "a", "b"} {
			again, err := s.storeOnce(from, "proof", []byte(body), store)
			if stored != 1 {
				t.Fatalf("%q: stored %d times", data, stored)
			}
			if body == "b" && !errors.Is(err, errOtherBody) || body == "a" && err != nil || again && body == "b" {
				t.Fatalf("%q, body %s: %t, %v", data, body, again, err)
			}
		}
	})
}
