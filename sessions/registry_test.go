package sessions

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/internal/atomicfile"
)

// The rows of a reading are kept for the next one, which reads no file then. What a caller does
// with its own changes nothing there.
func TestARowThatACallerChangesIsItsOwn(t *testing.T) {
	t.Parallel()
	root, err := atomicfile.Create(filepath.Join(t.TempDir(), "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	reg := &RegistryFile{root: root, now: time.Now, log: inbox.NoLog}
	want := "[\n" + `{"session_id":"s1","alias":"amber"}` + ",\n" + `{"session_id":"s2","alias":"birch"}` + "\n]\n"
	if err := root.Write(RegistryFileName, []byte(want)); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root.Path(), RegistryFileName), old, old); err != nil { // so that the rows are kept
		t.Fatal(err)
	}
	for range 3 {
		rows, err := reg.ReadRegistry()
		if err != nil || len(rows) != 2 {
			t.Fatal(rows, err)
		}
		if got := string(FormatRegistry(rows)); got != want {
			t.Fatalf("the registry is\n%s, was\n%s", got, want)
		}
		if reg.last.rows == nil {
			t.Fatal("no rows are kept")
		}
		rows[0].SetText("role", "a long text, which would not fit where the row was")
		_ = append(rows[1], "and behind the row"...)
		rows[0], rows[1] = rows[1], nil
	}
}
