package inbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

func TestAnArchivedIDIsFoundInTheIndex(t *testing.T) {
	s, root := newStore(t)
	var all []mail.Message
	for i := range 6 {
		all = append(all, appendChosen(t, s, fmt.Sprint("job-", i), 12, 100_000)...)
		wantFound(t, s, all[len(all)-12:])
	}
	// What is in no index is in the newest file.
	a, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for _, part := range a.older() {
		if _, ok := a.indexOf(part); !ok {
			t.Errorf("%v has no index in %v", part, a.ids)
		}
	}
	if n := len(a.older()); n < 5 || len(a.ids) > 4 {
		t.Errorf("%d older files have %d indexes", n, len(a.ids))
	}
	for _, index := range indexFiles(t, root) { // so none is searched
		before, err := os.Stat(index)
		if err != nil || before.Size()%idBlock != 0 {
			t.Error(before, err)
		}
	}
	wantFound(t, s, all)
	for _, id := range []string{"job", "job-0", "job-0-", "job-9-1", "x"} {
		if got := withID(t, s, id); len(got) != 0 {
			t.Errorf("%s: %v", id, got)
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
	whole, err := os.ReadFile(indexFiles(t, root)[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		data := bytes.Clone(whole)
		data[at] ^= 1
		return data
	}
	entries, err := decodeIDs(whole)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i].place++
	}
	stale := encodeIDs(entries) // each place is wrong
	for name, data := range map[string][]byte{
		"lost": nil, "empty": {}, "zeros": make([]byte, len(whole)), "half": whole[:len(whole)/2], "longer": append(bytes.Clone(whole), 0),
		"two": append(bytes.Clone(whole), whole...), "an entry": flipped(3), "a place": flipped(12), "the count": flipped(idBlock - idFoot + 3),
		"the version": flipped(idBlock - 6), "the sum": flipped(idBlock - 1), "stale": stale,
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
		if got, err := os.ReadFile(indexFiles(t, root)[0]); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%s: the index is not made anew, %v", name, err)
		}
	}
}

// An index has what was put into it, however many, and of whatever else stands in such a file
// nothing is believed.
func FuzzIDs(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add(encodeIDs(nil), uint16(1))
	f.Add(encodeIDs([]idAt{{1, 2}, {1, 3}, {5, 0}}), uint16(600))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		decodeIDs(data)
		if len(data) >= 8 {
			placesOf(bytes.NewReader(data), int64(len(data)), binary.BigEndian.Uint64(data))
		}
		random := rand.New(rand.NewPCG(uint64(n), 1))
		var all []idAt
		for range n % 1000 {
			all = append(all, idAt{random.Uint64N(300) << 40, random.Int64N(3)})
		}
		file := encodeIDs(slices.Clone(all))
		for key := range uint64(300) {
			var want []int64
			for _, one := range all {
				if one.key == key<<40 && !slices.Contains(want, one.place) {
					want = append(want, one.place)
				}
			}
			slices.Sort(want)
			if got, err := placesOf(bytes.NewReader(file), int64(len(file)), key<<40); err != nil || !slices.Equal(got, want) {
				t.Fatalf("key %d of %d: %v, want %v, %v", key, len(all), got, want, err)
			}
		}
	})
}

func FuzzIDFileName(f *testing.F) {
	for _, s := range []string{"0000000000000000-0000000000000009.ids", "1-2.ids", "-.ids", "0000000000000009-0000000000000000.ids", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if i, ok := parseIDFile(name); ok && (i.name() != name || i.from >= i.to || strings.ContainsAny(name, "/\x00")) {
			t.Errorf("%q is read as %v", name, i)
		}
		if base, ok := parsePart(name); ok && partName(base) != name {
			t.Errorf("%q is read as %d", name, base)
		}
	})
}

// Each place is a file to open, while senders wait for the mailbox.
func TestAnIDWithTooManyPlacesIsNotLookedUp(t *testing.T) {
	var often []idAt
	for place := range int64(100 * mostPlaces) {
		often = append(often, idAt{idKey("again"), place})
	}
	often = append(often, idAt{idKey("once"), 7})
	data := encodeIDs(often)
	for id, want := range map[string]error{"again": errOften, "once": nil} {
		places, err := placesOfAll(bytes.NewReader(data), int64(len(data)), map[string]bool{id: true})
		if !errors.Is(err, want) || len(places) > 1 {
			t.Errorf("%s: %d places, %v, want %v", id, len(places), err, want)
		}
	}
	if len(data)/idBlock < 8 {
		t.Fatal("the index is read whole")
	}
}
