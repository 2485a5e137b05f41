package webhook

import (
	"errors"
	"sync"
	"testing"

	"c2c/broker/senders"
	"c2c/inbox/atomicfile"
)

// Whatever stands in the file of what was seen, a request is stored at most once, and remembered with its body.
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
		s, stored := &seen{dir: dir, all: map[string]*sync.Mutex{}}, 0
		store := func() error { stored++; return nil }
		from := senders.Sender{Name: "ci", Scheme: senders.GitHub}
		for _, body := range []string{"a", "a", "b"} {
			again, err := s.once(from, "proof", []byte(body), store)
			if stored != 1 {
				t.Fatalf("%q: stored %d times", data, stored)
			}
			if body == "b" && !errors.Is(err, errOtherBody) || body == "a" && err != nil || again && body == "b" {
				t.Fatalf("%q, body %s: %t, %v", data, body, again, err)
			}
		}
	})
}
