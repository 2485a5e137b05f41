package inbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
)

// Long messages fill many files; the first of them and the last record of the archive are long,
// too.
func TestABacklogIsFoundBehindLongMessages(t *testing.T) {
	m, _ := newBox(t)
	long := strings.Repeat("x", 50<<10)
	var times []time.Time
	for i := range 5 {
		sent := deliver(t, m, mail.Message{From: "a", To: "b", Content: long, ID: fmt.Sprintf("m-%d", i)})
		times = append(times, sent[0].Time())
	}
	wantBacklog(t, m, 5, times[0])
	l := lease(t, m)
	wantBacklog(t, m, 0, time.Time{})
	if err := l.Ack(t.Context(), "m-0", "m-1"); err != nil {
		t.Fatal(err)
	}
	wantBacklog(t, m, 3, times[2])
	records, err := m.archive.History(t.Context(), 1)
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	if at := backlogOf(t, m).LastRead; !at.Equal(mail.FromSeconds(records[0].DrainedAt)) {
		t.Errorf("last read at %v, want %v", at, mail.FromSeconds(records[0].DrainedAt))
	}
}

func backlogOf(t *testing.T, m *Mailbox) Backlog {
	t.Helper()
	b, err := lookAt(t, m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func lookAt(t *testing.T, m *Mailbox) (Backlog, error) {
	t.Helper()
	there, err := m.root.NameSet()
	if err != nil {
		t.Fatal(err)
	}
	all, err := OpenBacklogs(m.root, there)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	return all.Of(m.sid)
}

func wantBacklog(t *testing.T, m *Mailbox, count int, oldest time.Time) {
	t.Helper()
	if got := backlogOf(t, m); got.Count != count || !got.Oldest.Equal(oldest) {
		t.Errorf("backlog %+v, want %d since %v", got, count, oldest)
	}
}

func TestAnEmptyMailboxHasNoBacklog(t *testing.T) {
	m, _ := newBox(t)
	if got := backlogOf(t, m); got != (Backlog{}) {
		t.Errorf("backlog %+v", got)
	}
}

// Other programs write the file too, in any layout. What of it cannot be read is damage of this
// mailbox, and the rest counts if each message has a line of its own.
func TestABacklogIsReadInAnyLayout(t *testing.T) {
	two := `[` + goodLine + `,` + strings.Replace(goodLine, "ok-1", "ok-2", 1) + `]`
	var pretty, deep bytes.Buffer
	if err := json.Indent(&pretty, []byte(two), "", "    "); err != nil {
		t.Fatal(err)
	}
	deep.WriteString(`[{"x":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "," + goodLine[1:] + `]`)
	at := time.UnixMilli(1500)
	for name, c := range map[string]struct {
		file    string
		count   int
		oldest  time.Time
		damaged bool
	}{
		"one line":      {two, 2, at, false},
		"pretty":        {pretty.String(), 2, at, false},
		"pretty, CRLF":  {strings.ReplaceAll(pretty.String(), "\n", "\r\n"), 2, at, false},
		"deep":          {deep.String(), 1, at, false},
		"BOM":           {"\ufeff" + two, 0, time.Time{}, true},
		"cut off":       {pretty.String()[:pretty.Len()-20], 0, time.Time{}, true},
		"cut at a line": {"[\n" + goodLine + ",\n{\n", 1, at, true},
		"a bracket":     {"[\n{\n", 0, time.Time{}, true},
		"an object":     {goodLine, 1, at, true},
		"a number":      {"[\n" + goodLine + ",\n17\n]\n", 1, at, true},
		"wrong types":   {`[{"from_alias":1,"to_alias":2,"content":3}]`, 0, time.Time{}, true},
		"ours, damaged": {"[\n{\"from_alias\"}\n]\n", 0, time.Time{}, true},
		"twice a key":   {`[{"content":"first",` + goodLine[1:] + `]`, 1, at, false},
		"huge number":   {"[" + strings.Replace(goodLine, "1.5", "1e400", 1) + "]", 1, time.Unix(0, 0), false},
		"zeros":         {strings.Repeat("\x00", 4096), 0, time.Time{}, true},
	} {
		m, root := newBox(t)
		plantFile(t, root, "amber.inbox.json", c.file)
		b, err := lookAt(t, m)
		if b.Count != c.count || !b.Oldest.Equal(c.oldest) || (err != nil) != c.damaged {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
		if got := len(strings.Fields(peek(t, m))); got != c.count {
			t.Errorf("%s: %d messages are handed over, and %d are listed", name, got, c.count)
		}
	}
}

// The name counts what is in a numbered file. Its first message alone is read.
func TestANumberedFileIsReadInAnyLayout(t *testing.T) {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(`[`+goodLine+`]`), "", "  "); err != nil {
		t.Fatal(err)
	}
	for n := range pretty.Len() {
		m, root := newBox(t)
		plantFile(t, root, "amber.lease/00000001-1-9.json", pretty.String()[:n])
		if b, err := lookAt(t, m); err == nil && n < strings.LastIndexByte(pretty.String(), '}') || b.Count != 1 {
			t.Fatalf("%q: %+v, %v", pretty.String()[:n], b, err)
		}
	}
	m, root := newBox(t)
	plantFile(t, root, "amber.lease/00000001-1-9.json", pretty.String())
	wantBacklog(t, m, 1, time.UnixMilli(1500))
}

// Whatever stands in the files of a mailbox, a list has an answer, and other mailboxes are as they
// are.
func FuzzBacklog(f *testing.F) {
	for _, s := range []string{"", "[", "[\n{", `[{"`, goodLine, "[\n" + goodLine + "\n]\n", "[\n{\n  \"from_alias\": \"b\"\n}\n]", "\ufeff[]", "[1]", "null", "{}"} {
		f.Add([]byte(s))
	}
	root := filepath.Join(f.TempDir(), "root")
	m, err := openAt(root)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{m.LeaseName(), Dir} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{m.inboxName(), m.LeaseName() + "/00000001-1-9.json", Dir + "/" + m.archive.Name()} {
			if err := os.WriteFile(filepath.Join(root, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		msgs, damaged := decode(data)
		b, err := lookAt(t, m)
		if b.Count != 1+len(msgs) || damaged && err == nil && len(msgs) == 0 {
			t.Errorf("%q has %d messages, %+v, %v", data, len(msgs), b, err)
		}
	})
}

// A long backlog is counted by the names of its files: only the oldest one is opened, and those that a reader took.
func TestABacklogIsCountedByNames(t *testing.T) {
	t.Parallel()
	m, dir := newBox(t)
	for range 40 {
		deliver(t, m, letter(strings.Repeat("word ", 2000)))
	}
	files, err := filepath.Glob(filepath.Join(dir, m.LeaseName(), "*"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, name := range files[1:] {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("nowhere", name); err != nil { // it cannot be opened
			t.Fatal(err)
		}
	}
	there, err := m.root.NameSet()
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := OpenBacklogs(m.root, there)
	if err != nil {
		t.Fatal(err)
	}
	defer boxes.Close()
	if found, err := boxes.Of(m.sid); err != nil || found.Count != 40 {
		t.Errorf("backlog %+v, %v", found, err)
	}
}
