package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/inbox/mail"
)

// readChosen hands count messages of a size over, whose ids their sender chose, and returns the
// messages.
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

// firstPart is the oldest file of an archive, and partSize the size at which the newest one is
// rotated.
const (
	firstPart = "0000000000000000.jsonl"
	partSize  = 1 << 20
)

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

// Several senders may use one id, and one of them again and again.
func TestAnIDOfSeveralIsFoundInSeveralFiles(t *testing.T) {
	m, _ := newBox(t)
	for i := range 5 {
		msg := letter(strings.Repeat("x", partSize))
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
			found, err := m.Search(t.Context(), Query{IDs: map[string]bool{typed: true}, Match: func(mail.Message) bool { return true }, Limit: 9})
			if err != nil || len(found) != 1 || found[0].Message.ID != id {
				t.Errorf("%s is %v, %v", typed, found, err)
			}
		}
	}
	waits := deliver(t, m, letter("it waits"))[0]
	found, err := m.Search(t.Context(), Query{IDs: map[string]bool{mail.ShortID(waits.ID): true}, Match: func(mail.Message) bool { return true }, Limit: 9})
	if err != nil || len(found) != 1 || found[0].Where != Waiting {
		t.Errorf("%v, %v", found, err)
	}
	set := map[string]bool{}
	for _, id := range ids[:20] {
		set[mail.ShortID(id)] = true
	}
	if found, err := m.Search(t.Context(), Query{IDs: set, Match: func(mail.Message) bool { return true }, Limit: 99}); err != nil || len(found) != 20 {
		t.Errorf("%d of 20, %v", len(found), err)
	}
}

// A person took a line out of an older file, or an editor wrote it anew: the other ids are found.
func TestAnOlderFileThatSomebodyChangedIsSearched(t *testing.T) {
	m, root := newBox(t)
	all := readChosen(t, m, "job", 24, 100_000)
	wantOnce(t, m, all[:1])
	part := filepath.Join(root, "archive", "amber.old", firstPart)
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

// The OCaml c2c's archive is of any length, and its records have no session.
func TestAnArchiveOfTheOriginalIsSearched(t *testing.T) {
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
}

func TestAPruneForgetsIDs(t *testing.T) {
	m, root := newBox(t)
	all := readChosen(t, m, "job", 36, 100_000)
	wantOnce(t, m, all)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, "archive", "amber.old", firstPart), old, old); err != nil {
		t.Fatal(err)
	}
	prune := func(before time.Time) {
		t.Helper()
		if _, err := m.archive.Prune(t.Context(), before, false); err != nil {
			t.Fatal(err)
		}
	}
	prune(old.Add(time.Minute))
	if found, err := m.FindAll(t.Context(), all[0].ID); err != nil || len(found) != 0 {
		t.Errorf("it was pruned: %d, %v", len(found), err)
	}
	wantOnce(t, m, all[12:])
	prune(time.Now().Add(time.Hour))
	if st, err := m.Deliver(t.Context(), all[12]); err != nil || st.Already[0] {
		t.Errorf("its id is forgotten: %v, %v", st.Already, err)
	}
	all = readChosen(t, m, "again", 24, 100_000)
	wantOnce(t, m, all)
}

// Two archives become one, whose files are other ones.
func TestTheIDsOfAMergedArchiveAreFound(t *testing.T) {
	m, _ := newBox(t)
	from, _ := newBox(t)
	all := readChosen(t, m, "one", 24, 100_000)
	all = append(all, readChosen(t, from, "two", 24, 100_000)...)
	wantOnce(t, m, all[:24])
	wantOnce(t, from, all[24:])
	if gone, err := from.MergeInto(t.Context(), m); err != nil || !gone {
		t.Fatal(gone, err)
	}
	wantOnce(t, m, all)
}

// While the archive grows and is pruned, each id that was archived before is found or was pruned.
func TestManyLookWhileTheArchiveGrows(t *testing.T) {
	m, _ := newBox(t)
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
			readChosen(t, m, fmt.Sprint("more-", i), 1, 200_000)
		}
	})
	wait.Wait()
	wantOnce(t, m, all)
}

// One sender may choose as its id what is shown of another message's id. Both have one hash, and
// each place is right.
func TestAnIDThatIsWhatIsShownOfAnotherIsFound(t *testing.T) {
	m, _ := newBox(t)
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
	}
}

// Another program may have archived a message many times. Each place is read on its own, while
// senders wait for the mailbox.
func TestAnIDThatIsArchivedTooOftenIsSearched(t *testing.T) {
	m, root := newBox(t)
	msg := letter("again" + strings.Repeat("x", 1000))
	msg.ID, msg.TS, msg.FromSession = "again", 1, "s-birch"
	line, err := json.Marshal(ArchiveRecord{Message: msg, DrainedAt: 1, DrainedBy: "test", SessionID: "amber"})
	if err != nil {
		t.Fatal(err)
	}
	plantFile(t, root, "archive/amber.old/"+firstPart, strings.Repeat(string(line)+"\n", 128))
	wantOnce(t, m, []mail.Message{msg})
	a, err := m.archive.open()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if err := a.lookUp(0, map[string]bool{"again": true}, new([]byte), nil); !errors.Is(err, errNoIndex) {
		t.Errorf("it is looked up: %v", err)
	}
}
