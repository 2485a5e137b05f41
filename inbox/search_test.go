package inbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/inbox/mail"
)

func TestSearchGivesTheNewestFirstWhereverTheyAre(t *testing.T) {
	t.Parallel()
	m, _ := newBox(t)
	for i := range 4 {
		deliver(t, m, letter(fmt.Sprintf("word %d", i)))
		if i == 1 {
			l := lease(t, m)
			if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
				t.Fatal(err)
			}
		}
	}
	deliver(t, m, letter("other"))
	for limit, want := range map[int]string{1: "waiting word 3, archived word 1", 9: "waiting word 3, waiting word 2, archived word 1, archived word 0"} {
		found, err := m.Search(t.Context(), Query{
			Holds: func(data []byte) bool { return bytes.Contains(data, []byte("word")) },
			Match: func(m mail.Message) bool { return strings.HasPrefix(m.Content, "word") }, Limit: limit,
		})
		var got []string
		for _, f := range found {
			got = append(got, f.Where+" "+f.Message.Content)
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("at most %d: %q, %v", limit, got, err)
		}
	}
}

func TestSearchTellsOnceOfAMessageThatIsArchivedAndNotRemovedYet(t *testing.T) {
	t.Parallel()
	m, _ := newBox(t)
	deliver(t, m, letter("word"))
	l := lease(t, m)
	defer l.Release()
	if err := m.archive.Append(t.Context(), "hook", l.Messages, l.since()); err != nil {
		t.Fatal(err)
	}
	found, err := m.Search(t.Context(), Query{Match: func(mail.Message) bool { return true }, Limit: 9})
	if err != nil || len(found) != 1 || found[0].Where != Archived {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestALinkIsReadFromALineOrTheLineIsParsed(t *testing.T) {
	t.Parallel()
	links := func(file string) string {
		all := ""
		others := mail.EachLink([]byte(file), func(id, answers string) { all += id + " " + answers + " " })
		return fmt.Sprint(all, others)
	}
	for line, want := range map[string]string{
		`{"from_alias":"a","content":"c","message_id":"m-2","kind":"task","in_reply_to":"m-1"}`: "m-2 m-1 false",
		`{"in_reply_to": "m-1", "message_id" : "m-2"},`:                                         "m-2 m-1 false",
		`{"content":"\"in_reply_to\":\"m-1\"","message_id":"m-2"}`:                              "true",
		`{"content":"c","message_id":"m-2"}`:                                                    "false",
		`[{"message_id":"m-2","in_reply_to":"m-1"},{"message_id":"m-3","in_reply_to":"m-2"}]`:   "true",
		`{"message_id":"m-2","in_reply_to":"m-\u0031"}`:                                         "true",
		`{"content":"c","in_reply_to":"m-1"}`:                                                   "true",
		`{"content":"\\","in_reply_to":"m-1","message_id":"m-2","x":{"message_id":"m-9"}}`:      "true",
	} {
		if got := links(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		const before, behind = `{"message_id":"m-8","in_reply_to":"m-7"}`, `{"in_reply_to":"m-5","message_id":"m-6"}`
		own := want[:strings.LastIndexAny(want, " ")+1]
		want := "m-8 m-7 " + own + "m-6 m-5 " + want[len(own):]
		if got := links(before + "\n" + line + "\n" + behind); got != want {
			t.Errorf("%s between others: %q, want %q", line, got, want)
		}
	}
}

func TestATimeIsReadFromALineOrTheLineIsParsed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"from_alias":"a","to_alias":"b","content":"c","ts":1.5,"kind":"task"}`: "1.5 true",
		`{"from_alias":"a","to_alias":"b","ts":2.0}`:                             "2 true",
		`{"content":",\"ts\":9,","ts":1.5}`:                                      "1.5 true",
		`{"content":"c","ts": 1.5}`:                                              "0 false",
		`{"ts":1.5,"content":"c"}`:                                               "0 false",
		`{"content":"c","ts":1.5,"x":{"ts":9}}`:                                  "0 false",
		`{"from_alias":"ts","content":"c","ts":1.5}`:                             "0 false",
		`{"content":"c","ts":"1.5"}`:                                             "0 false",
		`{"content":"c"}`:                                                        "0 false",
		`{"content":"c","ts":1.5`:                                                "0 false",
	} {
		ts, ok := timeOf([]byte(line))
		if got := fmt.Sprint(ts, ok); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	m, _ := newBox(t)
	for _, ts := range []float64{3, 1, 2} {
		one := letter(fmt.Sprint("of ", ts))
		one.TS = ts
		deliver(t, m, one)
	}
	l := lease(t, m)
	if err := l.Ack(t.Context(), Handles(l.Messages)...); err != nil {
		t.Fatal(err)
	}
	parsed := 0
	found, err := m.Search(t.Context(), Query{Limit: 9, MayBeOf: func(ts float64) bool { return ts >= 2 }, Match: func(mail.Message) bool { parsed++; return true }})
	if err != nil || parsed != 2 || len(found) != 2 || found[0].Message.TS != 2 || found[1].Message.TS != 3 {
		t.Errorf("%d were parsed; %+v, %v", parsed, found, err)
	}
}

// What was sent last is wanted as a rule, so nothing that waits behind it is read.
func TestSearchReadsNoMoreOfWhatWaitsThanItNeeds(t *testing.T) {
	t.Parallel()
	m, dir := newBox(t)
	for i := range 40 {
		deliver(t, m, letter(fmt.Sprint(i, strings.Repeat(" word", 2000))))
	}
	files, err := filepath.Glob(filepath.Join(dir, m.LeaseName(), "*"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	read, parsed := 0, 0
	found, err := m.Search(t.Context(), Query{
		Holds: func(data []byte) bool {
			if data[0] == '[' {
				read++
			}
			return bytes.Contains(data, []byte(`39 word`)) || bytes.Contains(data, []byte(`38 word`))
		},
		Match: func(m mail.Message) bool { parsed++; return true }, Limit: 2,
	})
	if read > 2 {
		t.Errorf("%d files are read of %d", read, len(files)+1)
	}
	if err != nil || len(found) != 2 || !strings.HasPrefix(found[0].Message.Content, "39") || parsed != 2 {
		t.Errorf("found %d, %d parsed, %v", len(found), parsed, err)
	}
}

// A file that another program has written, and one in which two messages have no id and are equal,
// are searched as well.
func TestSearchFindsWhatIsWrittenInAnyWay(t *testing.T) {
	t.Parallel()
	const one = `{"from_alias":"birch","to_alias":"amber","content":"word","ts":1.0}`
	for name, file := range map[string]string{
		"a message a line": "[\n" + one + ",\n" + one + "\n]\n",
		"pretty":           "[\n  " + one + ",\n\n  " + one + "]",
		"on one line":      "[" + one + "," + one + "]",
		"damaged":          "[\n" + one + ",\n{\"from_alias\":}\n,\n" + one + "\n]\n",
	} {
		m, dir := newBox(t)
		if err := os.WriteFile(filepath.Join(dir, m.inboxName()), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := m.Search(t.Context(), Query{
			Holds: func(data []byte) bool { return bytes.Contains(data, []byte("word")) }, Match: func(mail.Message) bool { return true }, Limit: 9,
		})
		if err != nil || len(found) != 2 || found[0].Message.ID == found[1].Message.ID {
			t.Errorf("%s: %+v, %v", name, found, err)
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
	const blockSize = 256 << 10 // which are read at once
	m, dir := newBox(f)
	path := filepath.Join(dir, Dir, m.archive.Name())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		holds := mail.AnyCaseFinder(word)
		is := func(m mail.Message) bool { return strings.Contains(strings.ToLower(m.Content), word) }
		found, err := m.Search(t.Context(), Query{Holds: holds.In, Match: is, Limit: cmp.Or(int(limit), math.MaxInt)})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, line := range slices.Backward(bytes.Split(data, []byte("\n"))) {
			var r ArchiveRecord
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
