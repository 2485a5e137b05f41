package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// c2c is the program under test.
func c2c() string { return filepath.Join(os.Getenv("C2C_E2E_BIN"), "c2c") }

// sendWord is a shell command by which birch sends amber the text "word-<word>".
// The text is put together there, so that the command itself does not hold it.
func sendWord(word string) string {
	return "printf 'word-%s' " + word + " | C2C_MCP_SESSION_ID=birch " + c2c() + " send amber --id id-" + word + " -"
}

// mailLab has two mailboxes, and runs its clients as amber.
func mailLab(t *testing.T) *lab.Lab {
	l := newLab(t)
	for _, name := range []string{"amber", "birch"} {
		l.Run(c2c(), "register", name, "--session-id", name)
	}
	l.Setenv("C2C_MCP_SESSION_ID", "amber")
	return l
}

func status(l *lab.Lab, id string) string { return l.Run(c2c(), "status", id) }

func TestClaudeReceivesMailWithTheNextRequest(t *testing.T) {
	t.Parallel()
	l, model := mailLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	l.Run("sh", "-c", sendWord("before"))
	model.Script(bash(sendWord("meanwhile")), bash("true"), lab.Say("Finished."))
	p := l.Claude(model, "-p", "please run it")
	p.CloseInput()
	p.Wait()

	once(t, model.Wait(0), "word-before") // sent before the session started
	second := model.Wait(1)
	item := once(t, second, "word-meanwhile")
	t.Logf("mail after a tool call: %+v", item)

	last := model.Wait(2)
	once(t, last, "word-before")
	once(t, last, "word-meanwhile")
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "read by hook") {
		t.Errorf("status %q", got)
	}
}

func TestClaudeUninstallLeavesNoTrace(t *testing.T) {
	t.Parallel()
	l := mailLab(t)
	l.SeedClaude(nil)
	tree := "cd " + l.Home + " && find . -path ./.c2c -prune -o -type f -print0 | sort -z | xargs -0 sha256sum"
	before := l.Run("sh", "-c", tree)
	l.Run(c2c(), "install", "claude")
	l.Run(c2c(), "uninstall", "claude")
	if after := l.Run("sh", "-c", tree); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
