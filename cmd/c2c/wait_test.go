package main

import (
	"strings"
	"testing"

	"c2c/cmd/cli"
)

// No time to wait is none, however it is written; a wait for ever is asked for without a time.
func TestAWaitOfNoTimeEndsAtOnce(t *testing.T) {
	root := scratch(t)
	for _, wait := range []string{"0", "0s", "0ms", "+0s"} {
		if _, errs, code := run(t, root, "amber", "poll-inbox", "--check", "--wait="+wait); code != cli.Nothing {
			t.Errorf("poll-inbox --wait=%s: exit %d, %s", wait, code, errs)
		}
		if _, errs, code := run(t, root, "amber", "ask", "birch", "--wait="+wait, "well?"); code != cli.Usage || !strings.Contains(errs, "--wait 0s: want") {
			t.Errorf("ask --wait=%s: exit %d, %s", wait, code, errs)
		}
	}
	for _, wait := range []string{"1", "t", "5", "-1s", "", "soon", "99999999h"} {
		for _, verb := range [][]string{{"poll-inbox", "--check"}, {"ask", "birch", "well?"}} {
			if _, errs, code := run(t, root, "amber", append(verb, "--wait="+wait)...); code != cli.Usage || !strings.Contains(errs, "want a duration such as 90s or 5m") {
				t.Errorf("%s --wait=%s: exit %d, %s", verb[0], wait, code, errs)
			}
		}
	}
}
