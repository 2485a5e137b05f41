package inbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
)

func indexFiles(t *testing.T, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, Dir, "amber.old", "*.ids"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAnArchivedIDIsFoundInTheIndex(t *testing.T) {
	s, root := newStore(t)
	var all []mail.Message
	for i := range 6 {
		all = append(all, appendChosen(t, s, fmt.Sprint("job-", i), 12, 100_000)...)
		wantFound(t, s, all[len(all)-12:])
	}
	a, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if n := len(a.bases); n < 5 || len(indexFiles(t, root)) != n {
		t.Errorf("%d older files have the indexes %v", n, indexFiles(t, root))
	}
	for _, base := range a.bases { // an index is used: what is in the file now has the same size and time
		path := filepath.Join(root, Dir, "amber.old", partName(base))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte("\n"), int(info.Size())), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if err := a.lookUp(base, map[string]bool{"job-9": true}, new([]byte), nil); err != nil {
			t.Errorf("%d: %v", base, err)
		}
	}
}

// Whatever becomes of an index, and whoever was killed while making it, an id is found and is
// nobody else's. What is damaged is made anew.
func TestAnIndexThatIsLostOrDamagedCostsNoID(t *testing.T) {
	s, root := newStore(t)
	all := appendChosen(t, s, "job", 45, 100_000)
	some := []mail.Message{all[0], all[10], all[20], all[44]}
	wantFound(t, s, some)
	first := indexFiles(t, root)[0]
	whole, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		data := bytes.Clone(whole)
		data[at] ^= 1
		return data
	}
	for name, data := range map[string][]byte{
		"lost": nil, "empty": {}, "zeros": make([]byte, len(whole)), "half": whole[:len(whole)/2], "longer": append(bytes.Clone(whole), 0),
		"two": append(bytes.Clone(whole), whole...), "the size": flipped(7), "the time": flipped(15), "a pair": flipped(20), "a place": flipped(22),
		"the sum": flipped(len(whole) - 1), "of another file": encodeIndex([]byte("x\n"), time.Now()),
	} {
		for _, file := range indexFiles(t, root) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if data == nil {
				continue
			}
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		wantFound(t, s, some)
		wantFound(t, s, some[:1])
		if got, err := os.ReadFile(first); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%s: the index is not made anew, %v", name, err)
		}
	}
}

// An index has the place of each id, and of whatever else stands in such a file nothing is believed.
func FuzzIndex(f *testing.F) {
	at := time.Unix(5, 6)
	f.Add([]byte{}, "a b a c")
	f.Add(encodeIndex(nil, at), "")
	f.Add(encodeIndex([]byte(`{"message_id":"x"}`+"\n"), at), "x")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if pairs, ok := pairsOf(data, 7, at); ok {
			placesIn(pairs, map[string]bool{"x": true})
		}
		var file []byte
		want := map[string][]int64{}
		for _, id := range strings.Fields(text) {
			if mail.ValidName(id) && mail.ShortID(id) == id {
				want[id] = append(want[id], int64(len(file)))
				file = fmt.Appendf(file, "{\"message_id\":%q}\n", id)
			}
		}
		pairs, ok := pairsOf(encodeIndex(file, at), int64(len(file)), at)
		for id, places := range want {
			if got := placesIn(pairs, map[string]bool{id: true}); !ok || !slices.Equal(got, places) {
				t.Fatalf("%s is at %v, want %v, %v", id, got, places, ok)
			}
		}
		if _, ok := pairsOf(encodeIndex(file, at), int64(len(file)), at.Add(1)); ok {
			t.Error("the index of another version of the file is used")
		}
	})
}
