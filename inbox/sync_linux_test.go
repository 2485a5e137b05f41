package inbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"c2c/e2e/need"
)

// traceVariable names the root in which this program does what its parent traces.
const traceVariable = "C2C_TEST_TRACE"

// The inbox has left the root, and its new name is in another directory. What syncs the root before
// that directory is synced could make a power cut lose the mail. So the reader syncs it, and when
// the reader was killed first, the next sender does.
func TestATakenInboxIsSyncedBeforeTheNextMailIsStored(t *testing.T) {
	if root := os.Getenv(traceVariable); root != "" {
		takeAndKill(t, root)
		return
	}
	need.Tools(t, "strace")
	out := filepath.Join(t.TempDir(), "trace")
	child := exec.Command("strace", "-f", "-y", "-qq", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o", out,
		os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), traceVariable+"="+filepath.Join(t.TempDir(), "root"))
	if text, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	trace, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rename := regexp.MustCompile(`rename\w*\(.*amber\.inbox\.json", [^"]*"[^"]*"`)
	taken, unsynced := 0, false
	for line := range strings.Lines(string(trace)) {
		switch {
		case rename.MatchString(line):
			taken, unsynced = taken+1, true
		case strings.Contains(line, "sync(") && strings.Contains(line, "/amber.lease>"):
			unsynced = false
		case unsynced && strings.Contains(line, "sync(") && strings.Contains(line, "/root>"):
			t.Errorf("the root is synced first: %s", line)
		}
	}
	if taken != 2 {
		t.Errorf("the inbox was taken %d times:\n%s", taken, trace)
	}
}

// takeAndKill takes the inbox as a reader does, and as one that is killed at once; a sender comes
// after each.
func takeAndKill(t *testing.T, root string) {
	m, err := openAt(root)
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, m, letter("a"))
	lease(t, m)
	deliver(t, m, letter("b"))
	inbox := filepath.Join(root, "amber.inbox.json")
	info, err := os.Stat(inbox)
	if err == nil {
		err = os.Rename(inbox, filepath.Join(root, "amber.lease", fmt.Sprintf("00000002-1-%d.json", info.Size())))
	}
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, m, letter("c"))
}

// Only the syncs of the root fail: the message is in place then, and its sender hears that nobody
// knows.
func TestWhoCannotSyncSaysThatTheMessageMayBeStored(t *testing.T) {
	if root := os.Getenv(traceVariable); root != "" {
		m, err := openAt(root)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Deliver(t.Context(), letter("b"))
		fmt.Println("said:", err)
		return
	}
	need.Tools(t, "strace")
	m, root := newBox(t)
	deliver(t, m, letter("a"))
	child := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-P", root, "-e", "trace=fsync", "-e", "inject=fsync:error=EIO",
		os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), traceVariable+"="+root)
	text, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	said := regexp.MustCompile(`said: .*input/output error; the message may be stored.* with the id (\S+)`).FindSubmatch(text)
	if said == nil {
		t.Fatalf("it said %s", text)
	}
	again := letter("b")
	again.ID, again.FromSession = string(said[1]), "birch"
	if stored, err := m.Deliver(t.Context(), again); err != nil || !stored.Already[0] {
		t.Errorf("repeated: %+v, %v", stored, err)
	}
	if got := peek(t, m); got != "a b" {
		t.Errorf("waiting %q", got)
	}
}
