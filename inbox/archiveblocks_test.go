package inbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/inbox/atomicfile"
	"c2c/inbox/finder"
	"c2c/inbox/mail"
)

// openedAt opens a file as an archive does.
func openedAt(path string) (*atomicfile.Handle, error) {
	dir, err := atomicfile.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenHandle(filepath.Base(path), os.O_RDONLY)
}

// backwards gives the lines of a file as they are read in blocks of a size.
func backwards(t *testing.T, file *atomicfile.Handle, from int64, size int) (lines []string) {
	t.Helper()
	r := backReader{size: size}
	more, err := r.read(file, from, func(block []byte) bool {
		eachBackwards(block, func(line []byte) bool {
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
		r, all := backReader{size: 8}, ""
		if _, err := r.read(file, 0, func(block []byte) bool {
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

// A search gives what one gives that parses each line, wherever the edge of a block is.
func FuzzASearchFindsWhatANaiveOneFinds(f *testing.F) {
	for _, s := range []struct{ word, lines string }{
		{"green", `{"content":"the GREEN light","message_id":"m-1"}` + "\n" + `{"content":"red","message_id":"m-2"}` + "\n" + `{"content":"greengreen","message_id":"m-3"}` + "\n"},
		{"kiwi", `{"content":"` + "\u212aIw\u0130" + `"}` + "\n" + `{"content":"KIWI`},
		{"m-1", "{\n\n" + `{"content":"x","in_reply_to":"m-1"}` + "\r\n" + `[{"content":"m-1"}]` + "\n"},
	} {
		for _, cut := range []uint16{0, 1, 20, 44, 60, 100} {
			f.Add(s.word, []byte(s.lines), cut, uint8(2))
		}
	}
	m, dir := newBox(f)
	archive := filepath.Join(dir, archiveDir, m.archive.Name())
	if err := os.MkdirAll(filepath.Dir(archive), 0o700); err != nil {
		f.Fatal(err)
	}
	filler := bytes.Repeat([]byte(`{"content":"`+strings.Repeat("words ", 500)+`"}`+"\n"), blockSize/1000)
	f.Fuzz(func(t *testing.T, word string, lines []byte, cut uint16, limit uint8) {
		word = strings.ToLower(word)
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return
		}
		if len(lines) > blockSize/2 {
			return
		}
		edge := int(cut) % (len(lines) + 1) // of the last block
		data := slices.Concat(lines, []byte("\n"), filler[:blockSize-len(lines)-1+edge])
		if err := os.WriteFile(archive, data, 0o600); err != nil {
			t.Fatal(err)
		}
		holds := finder.AnyCase(word)
		is := func(m mail.Message) bool { return strings.Contains(strings.ToLower(m.Content), word) }
		found, err := m.Search(t.Context(), Query{Holds: holds.In, Is: is, Limit: cmp.Or(int(limit), math.MaxInt)})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, line := range slices.Backward(bytes.Split(data, []byte("\n"))) {
			var r Archived
			naive := bytes.Contains(bytes.ToLower(line), []byte(word)) // a writer that escapes letters is not known
			if naive && json.Unmarshal(line, &r) == nil && is(r.Message) && len(want) < cmp.Or(int(limit), math.MaxInt) {
				want = append(want, r.Content)
			}
		}
		var got []string
		for _, one := range found {
			got = append(got, one.Message.Content)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	})
}
