package inbox

import (
	"bytes"
	"c2c/inbox/mail"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// readChosen hands count messages of a size over, whose ids their sender chose, and returns the messages.
func readChosen(t *testing.T, m *Mailbox, name string, count, size int) (msgs []mail.Message) {
	t.Helper()
	for i := range count {
		msg := letter(fmt.Sprint(i) + strings.Repeat("x", size))
		msg.ID, msg.TS, msg.FromSession = fmt.Sprintf("%s-%d", name, i), 1, "s-birch"
		if err := m.archive.Append(t.Context(), "test", []mail.Message{msg}, 0); err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, msg)
	}
	return msgs
}

func indexes(t *testing.T, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "archive", "amber.old", "*.ids"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// wantOnce sends each message again: it is there, and is not stored twice.
func wantOnce(t *testing.T, m *Mailbox, msgs []mail.Message) {
	t.Helper()
	for _, msg := range msgs {
		st, err := m.Deliver(t.Context(), msg)
		if err != nil || !st.Already[0] {
			t.Fatalf("%s is stored again, %v", msg.ID, err)
		}
		msg.Content = "other"
		if _, err := m.Deliver(t.Context(), msg); !errors.As(err, new(*IDTakenError)) {
			t.Fatalf("another message has the id %s: %v", msg.ID, err)
		}
	}
}

func TestAnArchivedIDIsFoundInTheIndex(t *testing.T) {
	m, root := newBox(t)
	var all []mail.Message
	for i := range 6 {
		all = append(all, readChosen(t, m, fmt.Sprint("job-", i), 12, 100_000)...)
		wantOnce(t, m, all[len(all)-12:])
	}
	// What is in no index is in the newest file.
	a, err := m.archive.Open()
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
	for _, index := range indexes(t, root) { // so none is searched
		before, err := os.Stat(index)
		if err != nil || before.Size()%idBlock != 0 {
			t.Error(before, err)
		}
	}
	wantOnce(t, m, all)
	for _, id := range []string{"job", "job-0", "job-0-", "job-9-1", "x"} {
		if found, err := m.FindAll(t.Context(), id); err != nil || len(found) != 0 {
			t.Errorf("%s: %v, %v", id, found, err)
		}
	}
}

// Several senders may use one id, and one of them again and again.
func TestAnIDOfSeveralIsFoundInSeveralFiles(t *testing.T) {
	m, _ := newBox(t)
	for i := range 5 {
		msg := letter(strings.Repeat("x", maxPart))
		msg.ID, msg.FromSession, msg.TS = "job", fmt.Sprint("s-", i), float64(i)
		if err := m.archive.Append(t.Context(), "test", []mail.Message{msg}, 0); err != nil {
			t.Fatal(err)
		}
	}
	found, err := m.FindAll(t.Context(), "job")
	if err != nil || len(found) != 5 {
		t.Fatal(len(found), err)
	}
	for i, f := range found {
		if want := fmt.Sprint("s-", 4-i); f.Message.FromSession != want {
			t.Errorf("number %d is of %s, want %s", i, f.Message.FromSession, want)
		}
	}
}

func TestWhatIsShownOfAnIDFindsIt(t *testing.T) {
	m, _ := newBox(t)
	ids := read(t, m, 30, 100_000)
	for _, id := range ids {
		for _, typed := range []string{id, mail.ShortID(id)} {
			found, err := m.Search(t.Context(), Query{IDs: map[string]bool{typed: true}, Is: func(mail.Message) bool { return true }, Limit: 9})
			if err != nil || len(found) != 1 || found[0].Message.ID != id {
				t.Errorf("%s is %v, %v", typed, found, err)
			}
		}
	}
	waits := deliver(t, m, letter("it waits"))[0]
	found, err := m.Search(t.Context(), Query{IDs: map[string]bool{mail.ShortID(waits.ID): true}, Is: func(mail.Message) bool { return true }, Limit: 9})
	if err != nil || len(found) != 1 || found[0].Where != Queued {
		t.Errorf("%v, %v", found, err)
	}
	set := map[string]bool{}
	for _, id := range ids[:20] {
		set[mail.ShortID(id)] = true
	}
	if found, err := m.Search(t.Context(), Query{IDs: set, Is: func(mail.Message) bool { return true }, Limit: 99}); err != nil || len(found) != 20 {
		t.Errorf("%d of 20, %v", len(found), err)
	}
}

// Whatever becomes of an index, and whoever was killed while making it, an id is found and is nobody else's. What is
// damaged is made anew.
func TestAnIndexThatIsLostOrDamagedCostsNoID(t *testing.T) {
	m, root := newBox(t)
	all := readChosen(t, m, "job", 45, 100_000)
	some := []mail.Message{all[0], all[10], all[20], all[44]}
	wantOnce(t, m, some)
	whole, err := os.ReadFile(indexes(t, root)[0])
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
		for _, file := range indexes(t, root) {
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
		wantOnce(t, m, some)
		wantOnce(t, m, some[:1])
		if got, err := os.ReadFile(indexes(t, root)[0]); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%s: the index is not made anew, %v", name, err)
		}
	}
}

// A process was killed after it had rotated the archive, and so was one that had joined two indexes.
func TestAKilledIndexerHarmsNobody(t *testing.T) {
	m, root := newBox(t)
	all := readChosen(t, m, "a", 24, 100_000)
	wantOnce(t, m, all[:1])
	kept := map[string][]byte{}
	for _, file := range indexes(t, root) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kept[file] = data
	}
	all = append(all, readChosen(t, m, "b", 24, 100_000)...) // no index of these yet
	old := filepath.Join(root, "archive", "amber.old")
	names, err := os.ReadDir(old)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(old, names[0].Name()+".ids.tmp.c2c")
	if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantOnce(t, m, all)
	for file, data := range kept {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantOnce(t, m, all)
}

// A person took a line out of an older file, or an editor wrote it anew: the other ids are found.
func TestAnOlderFileThatSomebodyChangedIsSearched(t *testing.T) {
	m, root := newBox(t)
	all := readChosen(t, m, "job", 24, 100_000)
	wantOnce(t, m, all[:1])
	part := filepath.Join(root, "archive", "amber.old", partName(0))
	data, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	if err := os.WriteFile(part, rest, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOnce(t, m, all[1:10])
	if st, err := m.Deliver(t.Context(), all[0]); err != nil || st.Already[0] {
		t.Errorf("%v, %v", st.Already, err)
	}
}

// The original's archive is of any length, and its records have no session.
func TestAnArchiveOfTheOriginalIsIndexed(t *testing.T) {
	m, root := newBox(t)
	var file strings.Builder
	for i := range 30 {
		fmt.Fprintf(&file, `{"drained_at": 5.0, "drained_by": "x", "session_id": "amber", "from_alias": "birch", "to_alias": "amber", "content": "%s", "message_id": "o-%d"}`+"\n",
			strings.Repeat("y", 100_000), i)
	}
	plantFile(t, root, "archive/amber.jsonl", file.String())
	for _, rotated := range []bool{false, true} {
		for i := range 30 {
			msg := letter(strings.Repeat("y", 100_000))
			msg.ID, msg.FromSession = fmt.Sprint("o-", i), "s-birch"
			if st, err := m.Deliver(t.Context(), msg); err != nil || !st.Already[0] {
				t.Fatalf("rotated %v: %v, %v", rotated, st.Already, err)
			}
		}
		read(t, m, 1, 1) // an ack of ours rotates it
	}
	if len(indexes(t, root)) != 1 {
		t.Error(indexes(t, root))
	}
}

func TestAPruneTakesIndexesAway(t *testing.T) {
	m, root := newBox(t)
	all := readChosen(t, m, "job", 36, 100_000)
	wantOnce(t, m, all)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, "archive", "amber.old", partName(0)), old, old); err != nil {
		t.Fatal(err)
	}
	prune := func(before time.Time, left int) {
		t.Helper()
		if _, err := m.archive.Prune(t.Context(), before, false); err != nil {
			t.Fatal(err)
		}
		if got := indexes(t, root); len(got) != left {
			t.Errorf("%d indexes are left: %q", len(got), got)
		}
	}
	prune(old.Add(time.Minute), 1)
	if found, err := m.FindAll(t.Context(), all[0].ID); err != nil || len(found) != 0 {
		t.Errorf("it was pruned: %d, %v", len(found), err)
	}
	wantOnce(t, m, all[12:])
	prune(time.Now().Add(time.Hour), 0)
	if st, err := m.Deliver(t.Context(), all[12]); err != nil || st.Already[0] {
		t.Errorf("its id is forgotten: %v, %v", st.Already, err)
	}
	all = readChosen(t, m, "again", 24, 100_000)
	wantOnce(t, m, all)
}

// Two archives become one, whose files are other ones.
func TestAMergedArchiveIsIndexedAnew(t *testing.T) {
	m, root := newBox(t)
	from, _ := newBox(t)
	all := readChosen(t, m, "one", 24, 100_000)
	all = append(all, readChosen(t, from, "two", 24, 100_000)...)
	wantOnce(t, m, all[:24])
	wantOnce(t, from, all[24:])
	if gone, err := from.MergeInto(t.Context(), m); err != nil || !gone {
		t.Fatal(gone, err)
	}
	wantOnce(t, m, all)
	a, err := m.archive.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for _, index := range indexes(t, root) {
		if i, _ := parseIDFile(filepath.Base(index)); i.from < a.bases[0] {
			t.Errorf("%v is left of an archive that begins at %d", i, a.bases[0])
		}
	}
}

// While the archive grows and is pruned, each id that was archived before is found or was pruned.
func TestManyLookWhileTheArchiveGrows(t *testing.T) {
	m, root := newBox(t)
	all := readChosen(t, m, "job", 12, 100_000)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for i := range 40 {
				msg := all[i%len(all)]
				if found, err := m.FindAll(t.Context(), msg.ID); err != nil || len(found) != 1 {
					t.Errorf("%s: %d, %v", msg.ID, len(found), err)
				}
			}
		})
	}
	wait.Go(func() {
		for i := range 40 {
			if i%8 == 0 {
				for _, index := range indexes(t, root) {
					if err := os.Remove(index); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Error(err)
					}
				}
			}
			readChosen(t, m, fmt.Sprint("more-", i), 1, 200_000)
		}
	})
	wait.Wait()
	wantOnce(t, m, all)
}

// An index has what was put into it, however many, and of whatever else stands in such a file nothing is believed.
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

// A process that was killed while it removed an archive may have left an index. The archive that begins there anew has other
// files, of which it says nothing.
func TestAnIndexOfAnArchiveThatIsGoneIsNotUsed(t *testing.T) {
	m, root := newBox(t)
	wantOnce(t, m, readChosen(t, m, "gone", 36, 100_000))
	left := indexes(t, root)
	for _, pattern := range []string{"amber.jsonl", "amber.old/*.jsonl"} {
		files, err := filepath.Glob(filepath.Join(root, "archive", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 4 {
		wantOnce(t, m, readChosen(t, m, fmt.Sprint("new-", i), 13, 90_000))
	}
	if len(left) == 0 {
		t.Error("there was no index")
	}
}

// One sender may choose as its id what is shown of another message's id. Both have one key, and each place is right.
func TestAnIDThatIsWhatIsShownOfAnotherKeepsTheIndex(t *testing.T) {
	m, root := newBox(t)
	whole := read(t, m, 1, 10)[0]
	shown := letter("shown")
	shown.ID, shown.TS, shown.FromSession = mail.ShortID(whole), 1, "s-birch"
	if err := m.archive.Append(t.Context(), "test", []mail.Message{shown}, 0); err != nil {
		t.Fatal(err)
	}
	readChosen(t, m, "job", 12, 100_000)
	for range 2 {
		found, err := m.FindAll(t.Context(), whole)
		if err != nil || len(found) != 1 || found[0].Message.ID != whole {
			t.Fatalf("found %v, %v", found, err)
		}
		if len(indexes(t, root)) == 0 {
			t.Fatal("a sound index was removed")
		}
	}
}

// Another program may have archived a message many times. Each place is a file to open, while senders wait for the mailbox.
func TestAnIDThatIsArchivedTooOftenIsSearched(t *testing.T) {
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

	m, root := newBox(t)
	msg := letter("again" + strings.Repeat("x", 1000))
	msg.ID, msg.TS, msg.FromSession = "again", 1, "s-birch"
	record := Archived{msg, 1, "test", "amber"}
	line := append(record.appendLine(nil), '\n')
	plantFile(t, root, "archive/amber.old/0000000000000000.jsonl", strings.Repeat(string(line), 2*mostPlaces))
	wantOnce(t, m, []mail.Message{msg})
	if files := indexes(t, root); len(files) != 1 {
		t.Errorf("the index was given up: %q", files)
	}
}
