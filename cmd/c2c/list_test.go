package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"c2c/client"
	"c2c/cmd/cli"
	"c2c/sessions"
)

// shown is the list of some sessions, line by line.
func shown(t *testing.T, rows []sessions.Listed, all bool) (lines []string) {
	t.Helper()
	var out bytes.Buffer
	c := &call{app: &app{stdout: &out, getenv: func(string) string { return "" }}}
	c.printList(rows, all, "c2c list --all", time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func ago(d time.Duration) time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(-d) }

func TestAListFitsEightyColumns(t *testing.T) {
	long := strings.Repeat("a", 64)
	lines := shown(t, []sessions.Listed{
		{Alias: "amber", Client: "opencode", Now: sessions.Now{Does: sessions.Waiting, Since: ago(59 * time.Minute)}, Quiet: true, Waiting: true,
			Count: 20_000, Oldest: ago(400 * 24 * time.Hour), LastRead: ago(59 * time.Minute), Role: "reviews what others have written, \x1b[2J and says so"},
		{Alias: long, Client: "claude", Now: sessions.Now{Does: sessions.Idle, Since: ago(2 * time.Hour)}},
		{Alias: "birch", Now: sessions.Now{Does: sessions.Unknown}, Role: strings.Repeat("ü", 200)},
		{Alias: "coral", Now: sessions.Now{Does: sessions.Unknown}, Role: strings.Repeat("漢🙂e\u0301", 100)},
	}, false)
	for _, line := range lines {
		if n := uniseg.StringWidth(line); n > 80 || strings.Contains(line, "\x1b") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{"waiting, dnd  59 min  20000  400 d", "\n" + long + "\n", "idle          2 h ", "reviews", "…"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}

func TestAListShowsTheNoteOfASession(t *testing.T) {
	lines := shown(t, []sessions.Listed{{Alias: "amber", Now: sessions.Now{Does: sessions.Idle}, Note: "nothing rings it"}}, false)
	if got := lines[len(lines)-1]; got != "amber: nothing rings it" {
		t.Errorf("%q", got)
	}
}

func TestAListLeavesOutWhatHasEnded(t *testing.T) {
	rows := []sessions.Listed{
		{ID: "sid-1", Alias: "amber", State: sessions.Absent, Now: sessions.Now{Does: sessions.Absent}, Waiting: true, Count: 1},
		{ID: "sid-2", Alias: "birch", State: sessions.Absent, Now: sessions.Now{Does: sessions.Absent}},
		{ID: "sid-3", Alias: "coral", State: sessions.Alive, Now: sessions.Now{Does: sessions.Alive}},
	}
	got := strings.Join(shown(t, rows, false), "\n")
	if strings.Contains(got, "amber") || strings.Contains(got, "birch") || strings.Contains(got, "sid-") || !strings.Contains(got, "coral") ||
		!strings.HasSuffix(got, "Ended and not shown: 2, 1 of them with mail. c2c list --all shows them.") {
		t.Errorf("shown:\n%s", got)
	}
	got = strings.Join(shown(t, rows, true), "\n")
	for _, want := range []string{"amber", "birch", "coral", "sid-1", "SESSION"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q with --all:\n%s", want, got)
		}
	}
	if got := shown(t, rows[1:2], false); got[0] != "(no sessions; c2c start --alias amber "+cli.Here()+" begins a session; c2c doctor shows problems)" || len(got) != 2 {
		t.Errorf("all have ended: %q", got)
	}
}

// A list has a column of tokens only if it knows some.
func TestAListShowsTokensWhereTheyAreKnown(t *testing.T) {
	rows := []sessions.Listed{
		{Alias: "amber", Client: "claude", Now: sessions.Now{Does: sessions.Idle}, Role: "reviewer", Tokens: client.Tokens{Input: 84_321, Output: 40}},
		{Alias: "birch", Client: "opencode", Now: sessions.Now{Does: sessions.Idle}},
	}
	for _, all := range []bool{false, true} {
		lines := shown(t, rows, all)
		if !strings.Contains(lines[0], "HANDED  TOKENS  CLIENT") || !strings.Contains(lines[1], "-       84k     claude    reviewer") || !strings.Contains(lines[2], "-       -       opencode") {
			t.Errorf("%s", strings.Join(lines, "\n"))
		}
	}
	if lines := shown(t, rows[1:], false); strings.Contains(lines[0], "TOKENS") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}
