package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openedAt opens a file in a directory of ours.
func openedAt(path string) (*Handle, error) {
	dir, err := Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenHandle(filepath.Base(path), os.O_RDONLY)
}

// backwards gives the lines of a file as they are read in blocks of a size.
func backwards(t *testing.T, file *Handle, from int64, size int) (lines []string) {
	t.Helper()
	r := BackReader{Block: size}
	more, err := r.Read(file, from, func(block []byte) bool {
		EachBackwards(block, func(line []byte) bool {
			lines = append(lines, string(line))
			return true
		})
		return true
	})
	if err != nil || !more {
		t.Fatal(more, err)
	}
	return lines
}

func FuzzBlocksHaveTheLinesOfTheFile(f *testing.F) {
	for _, file := range []string{"", "\n", "\n\n\n", "a", "a\n", "\na", "one\ntwo\nthree\n", "one\n\n\nfour is a longer line\nx\n\n", "half a line\nand ha", strings.Repeat("long ", 50) + "\nb\n"} {
		for _, size := range []uint8{1, 2, 3, 7, 64} {
			f.Add([]byte(file), size, uint8(0))
			f.Add([]byte(file), size, uint8(5))
		}
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, data []byte, size, from uint8) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openedAt(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var want []string
		if rest := data[min(len(data), int(from)):]; len(rest) > 0 {
			want = strings.Split(string(rest), "\n")
		}
		slices.Reverse(want)
		if got := backwards(t, file, int64(from), max(1, int(size))); !slices.Equal(got, want) {
			t.Errorf("%q from %d in blocks of %d: %q, want %q", data, from, size, got, want)
		}
	})
}

func TestAFileThatIsCutWhileItIsReadGivesWhatItStillHas(t *testing.T) {
	t.Parallel()
	const whole = "one\ntwo\nthree\nfour\nfive\n"
	path := filepath.Join(t.TempDir(), "file")
	for left := range int64(len(whole)) {
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openedAt(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, all := BackReader{Block: 8}, ""
		if _, err := r.Read(file, 0, func(block []byte) bool {
			all = string(block) + "|" + all
			if err := os.Truncate(path, left); err != nil {
				t.Fatal(err)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		// What follows the cut was read before it, or is not there: no line is made of two.
		for _, line := range strings.FieldsFunc(all, func(r rune) bool { return r == '\n' || r == '|' }) {
			if !slices.ContainsFunc(strings.Fields(whole), func(one string) bool { return strings.HasPrefix(one, line) }) {
				t.Errorf("cut to %d bytes it has a line %q: %q", left, line, all)
			}
		}
	}
}
