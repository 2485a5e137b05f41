package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// seesOnce wants the person of a client to see a message of birch, once: who has written it, and before its text at most
// as much as an envelope or a client's own words. The tests of each client call it when mail came while it was idle, in a
// turn and at a dialog.
func seesOnce(t *testing.T, p *lab.Proc, word string) {
	t.Helper()
	const head = 250
	shown := func() string {
		return strings.NewReplacer(" ", "", "\u00a0", "", "\n", "", "┃", "", "│", "", "█", "").Replace(p.Screen())
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
