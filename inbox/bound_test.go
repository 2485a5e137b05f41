package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"c2c/inbox/mail"
)

// plant puts a file into a folder of the root.
func plant(t *testing.T, root, folder, name string, data []byte) {
	t.Helper()
	folder = filepath.Join(root, folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What was acknowledged is found, or the sender was told that it was not stored.
func TestTheLastFileNumberHidesNoMail(t *testing.T) {
	for _, size := range []int{61_400, 100_000} { // in the inbox, or in a file of its own
		m, root := newBox(t)
		last := mailFile{number: maxField, count: 1, bytes: 50}
		plant(t, root, "amber.lease", last.name(), mail.Array([]mail.Message{{From: "birch", To: "amber", Content: "a", ID: "m-0", TS: 1}}))
		deliver(t, m, letter("b"))
		if _, err := m.Deliver(t.Context(), body("c", size)); err == nil {
			t.Errorf("a message of %d bytes is stored, and seen is %q", size, peeked(t, m))
		}
		if got := peeked(t, m); got != "a b" {
			t.Errorf("waiting %q", got)
		}
		for _, want := range []string{"a", "b"} { // a reader makes room again
			l := lease(t, m)
			if got := words(l.Messages); got != want || l.More != (want == "a") {
				t.Errorf("leased %q, more %v", got, l.More)
			}
			if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTheLastArchiveNameHidesNoRecord(t *testing.T) {
	m, root := newBox(t)
	plant(t, root, "archive/amber.old", fmt.Sprintf("%016d.jsonl", maxField/2-1), []byte("{}\n"))
	ids := read(t, m, 14, 100_000)
	if len(parts(t, root)) > 1 {
		t.Errorf("archive files %q", parts(t, root))
	}
	found, err := m.archive.Since(0)
	for _, id := range ids {
		if err != nil || !hasID(found, id) {
			t.Fatalf("record %s is not found, %v", id, err)
		}
	}
}
