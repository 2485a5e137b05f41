package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"c2c/client"
	"c2c/e2e/lab"
)

var update = flag.Bool("update", false, "record the screens in testdata/screens anew")

// seesRecorded wants the person of a client to see a message of birch as it was recorded:
// testdata/screens has that part of the screen for each client and situation (idle, turn, dialog),
// and docs/clients.md is made of it (make docs). Each is recorded by one test. With another version
// of the client seesOnce is all that is wanted.
func seesRecorded(t *testing.T, l *lab.Lab, p *lab.Proc, c lab.Client, when, word string) {
	t.Helper()
	seesOnce(t, p, word)
	if profile, _ := client.Find(string(c)); l.Version(c) != profile.Tested {
		return
	}
	file := filepath.Join("testdata", "screens", fmt.Sprintf("%s-%s.txt", c, when))
	if *update {
		if err := os.WriteFile(file, []byte(excerpt(p.Screen(), word)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return excerpt(p.Screen(), word) == string(data) }) // it may be drawn in pieces
	if got := excerpt(p.Screen(), word); got != string(data) {
		t.Errorf("its person sees\n%s\nand %s has\n%s\nin the whole screen\n%s", got, file, data, p.Screen())
	}
}

// excerpt is the part of a screen that shows a message: its lines and those around them, up to an
// empty line. What changes from run to run is masked.
func excerpt(screen, word string) string {
	lines := strings.Split(screen, "\n")
	for i, line := range lines { // a scroll bar in the last column
		if runes := []rune(line); len(runes) >= 119 && strings.ContainsRune("┃█", runes[len(runes)-1]) {
			lines[i] = string(runes[:len(runes)-1])
		}
	}
	var text strings.Builder // without what wraps it
	var row []int            // of each byte of text
	for i, line := range lines {
		n, _ := text.WriteString(squeezed.Replace(line))
		row = append(row, slices.Repeat([]int{i}, n)...)
	}
	end := strings.Index(text.String(), word)
	if end < 0 {
		return ""
	}
	from := max(0, strings.LastIndex(text.String()[:end], "birch"))
	first, last := row[from], row[end+len(word)-1]
	empty := func(i int) bool { return i < 0 || i >= len(lines) || strings.TrimSpace(lines[i]) == "" }
	for !empty(first - 1) {
		first--
	}
	for !empty(last + 1) {
		last++
	}
	var part strings.Builder
	for _, line := range lines[first : last+1] {
		part.WriteString(strings.TrimRight(clock.ReplaceAllString(line, "hh:mm"), " \u00a0") + "\n")
	}
	return part.String()
}

var (
	squeezed = strings.NewReplacer(" ", "", "\u00a0", "", "┃", "", "│", "", "█", "")
	clock    = regexp.MustCompile(`\b\d\d:\d\d\b`)
)

// seesOnce wants the person of a client to see a message of birch, once: who has written it, and
// before its text at most as much as an envelope or a client's own words. The tests of each client
// call it when mail came while it was idle, in a turn and at a dialog.
func seesOnce(t *testing.T, p *lab.Proc, word string) {
	t.Helper()
	const head = 250
	shown := func() string {
		return squeezed.Replace(strings.ReplaceAll(p.Screen(), "\n", ""))
	}
	eventually(t, func() bool { return strings.Contains(shown(), word) })
	screen := shown()
	at := strings.Index(screen, word)
	if at < 0 || strings.Count(screen, word) != 1 || !strings.Contains(screen[max(0, at-head):at], "birch") {
		t.Errorf("its person should see once that birch wrote %q:\n%s", word, p.Screen())
	}
	for _, old := range []string{"reply_via", `alias="birch"`, "&lt;", "tool output above", "Blocked by hook"} {
		if strings.Contains(screen, strings.ReplaceAll(old, " ", "")) {
			t.Errorf("its person sees %q:\n%s", old, p.Screen())
		}
	}
}
