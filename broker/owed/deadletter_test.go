package owed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/sessions"
	"c2c/sessions/callers"
)

// Nobody reads all dead letters to find out which sessions they are for.
func TestTheSessionsThatDeadLettersNameAreFoundInPieces(t *testing.T) {
	reg, err := sessions.Open(sessions.Config{Root: filepath.Join(t.TempDir(), "root")})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	names := map[string]bool{"a": true, "in-the-middle-of-a-piece": true, "at-the-end": true, "part": true}
	for at := 256<<10 - 40; at < 256<<10+40; at++ {
		text := `"a"` + strings.Repeat("x", at) + `"in-the-middle-of-a-piece"` + strings.Repeat("y", 300<<10) + `,"no-part",part,"at-the-end"`
		if err := reg.Dir().Write(callers.DeadLetterFile, []byte(text)); err != nil {
			t.Fatal(err)
		}
		named, err := NamesInDeadLetters(reg, names)
		if err != nil || len(named) != 3 || named["part"] {
			t.Fatalf("at %d: %v, %v", at, named, err)
		}
	}
	if err := reg.Dir().Write(callers.DeadLetterFile, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(reg.Root(), callers.DeadLetterFile), 4<<30); err != nil { // a hole that takes no space
		t.Fatal(err)
	}
	if named, err := NamesInDeadLetters(reg, nil); len(named) != 0 || err != nil { // without a name it reads nothing
		t.Error(named, err)
	}
}
