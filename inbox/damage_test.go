package inbox

import (
	"strings"
	"testing"
)

// A reader died between the archive and the removal, or could not archive: what
// it had is long and does not wait, and what came later is seen behind it.
func TestWhatWaitsIsSeenBehindWhatWasRead(t *testing.T) {
	for _, done := range []bool{false, true} {
		m, _ := newBox(t)
		deliver(t, m, mail("long"+strings.Repeat("x", 100_000)))
		l := lease(t, m)
		if err := m.archive(t.Context(), "test", l.Messages, 0); err != nil {
			t.Fatal(err)
		}
		if done {
			if err := l.markDone(); err != nil {
				t.Fatal(err)
			}
		}
		l.Release()
		deliver(t, m, mail("later"))
		if head, err := m.Head(t.Context(), 100); err != nil || bodies(head) != "later" {
			t.Errorf("done %v: head %.40q, %v", done, bodies(head), err)
		}
	}
}
