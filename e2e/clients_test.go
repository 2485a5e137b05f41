package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/lab"
)

// What is the same for every client that has c2c. Each has an idle session amber, and birch writes.

// wantMailboxes wants so many sessions of a client in the list.
func wantMailboxes(t *testing.T, l *lab.Lab, client lab.Client, n int) {
	t.Helper()
	list, found := l.Run(c2c(), "list"), 0
	for _, line := range lines(list) {
		if slices.Contains(strings.Fields(line), string(client)) {
			found++
		}
	}
	if found != n {
		t.Errorf("%d mailboxes, want %d:\n%s", found, n, list)
	}
}

// uninstallRestores wants every file as it was before c2c.
func uninstallRestores(t *testing.T, l *lab.Lab, client lab.Client) {
	t.Helper()
	skip := []string{"/.c2c/", "/.git/"}
	before := tree(t, skip, l.Home, l.Project)
	l.Run(c2c(), "install", string(client))
	l.Run(c2c(), "uninstall", string(client))
	compareTrees(t, before, tree(t, skip, l.Home, l.Project))
}

// answersAreAmbers wants the name amber in what the last tools answered, each at the end of one request.
func answersAreAmbers(t *testing.T, model *lab.Model, tools int) {
	t.Helper()
	turns := model.Turns()
	for _, r := range turns[len(turns)-tools:] {
		if last := r.Items[len(r.Items)-1]; !strings.Contains(last.Text, "amber") {
			t.Errorf("its session is not amber: %q", last.Text)
		}
	}
}

// eachWindowHasItsMail sends to amber and to another window, coral. The prompt stands in the conversation of one.
func eachWindowHasItsMail(t *testing.T, l *lab.Lab, model *lab.Model, amber, coral *lab.Proc, prompt, whose, read string) {
	t.Helper()
	for _, alias := range []string{"coral", "amber"} {
		model.Script(lab.Say("Woken " + alias + "."))
		l.Run("sh", "-c", sendAs("birch", alias, "for-"+alias))
		r := model.WaitText("word-for-" + alias)
		if got := len(r.Find(prompt)) > 0; got != (alias == whose) {
			t.Errorf("the mail of %s went to the other window:\n%s", alias, r)
		}
		wantRead(t, l, "id-for-"+alias, read)
	}
	amber.WaitShown("Woken amber.")
	coral.WaitShown("Woken coral.")
}

// aLongMessageComesWhole sends more than a tool's answer holds.
func aLongMessageComesWhole(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, read string) {
	t.Helper()
	body := sized(200_000, "x")
	l.Write("letter", body)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", "C2C_MCP_SESSION_ID=birch "+c2c()+" send amber --id id-long -F "+l.Home+"/letter")
	once(t, model.WaitText(body), body)
	p.WaitShown("Woken.")
	wantRead(t, l, "id-long", read)
}

// killPlugin kills what a plugin of ours in a client has started, which is started again.
func killPlugin(t *testing.T, p *lab.Proc) {
	t.Helper()
	words := fmt.Sprintf("plugin\x00--process\x00%d\x00", p.Pid())
	killed := 0
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, _ := os.ReadFile(file); strings.Contains(string(line), words) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			killed++
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if killed != 1 {
		t.Fatalf("%d processes are the plugin's", killed)
	}
}
