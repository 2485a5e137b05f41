package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"c2c/e2e/lab"
)

// What is the same for every client that has c2c. Each has an idle session amber, and birch writes.

// claudeIs waits until Claude Code says that of a session.
func claudeIs(l *lab.Lab, status string) { claudeIsSince(l, status, 0) }

// claudeIdle waits until the turn of the model's last request is over: it said idle before that
// turn, too.
func claudeIdle(l *lab.Lab, model *lab.Model) {
	turns := model.Turns()
	claudeIsSince(l, "idle", turns[len(turns)-1].Time.UnixMilli())
}

func claudeIsSince(l *lab.Lab, status string, since int64) {
	l.WaitUntil(status+" session of Claude Code", func() bool {
		paths, _ := filepath.Glob(l.Home + "/.claude/sessions/*.json")
		return slices.ContainsFunc(paths, func(path string) bool {
			var s struct {
				Status          string
				StatusUpdatedAt int64
			}
			data, _ := os.ReadFile(path) // it may have ended
			return json.Unmarshal(data, &s) == nil && s.Status == status && s.StatusUpdatedAt >= since
		})
	})
}

// codexIdle waits until so many turns of a thread are over.
func codexIdle(l *lab.Lab, turns int) {
	l.WaitFileCount(".codex/sessions/*/*/*/rollout-*.jsonl", `"task_complete"`, turns)
}

// hooksSayIdle waits until the hooks of a session have told that its turn is over. They tell of its
// beginning before the model is asked.
func hooksSayIdle(l *lab.Lab, alias string) {
	l.WaitUntil("end of the turn of "+alias, func() bool {
		_, err := l.Try("sh", "-c", `grep -l '"alias": "`+alias+`"' ~/.c2c/repos/*/broker/sessions/*.json | xargs grep -q '"turn": "idle"'`)
		return err == nil
	})
}

// wantMailboxes wants so many sessions of a client in the list.
func wantMailboxes(t *testing.T, l *lab.Lab, client lab.Client, n int) {
	t.Helper()
	list, found := l.Run(c2c(), "list", "--all"), 0
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

// answersAreAmbers wants the name amber in what the last tools answered, each at the end of one
// request.
func answersAreAmbers(t *testing.T, model *lab.Model, tools int) {
	t.Helper()
	turns := model.Turns()
	for _, r := range turns[len(turns)-tools:] {
		if last := r.Items[len(r.Items)-1]; !strings.Contains(last.Text, "amber") {
			t.Errorf("its session is not amber: %q", last.Text)
		}
	}
}

// eachWindowHasItsMail sends to amber and to another window, coral. The prompt stands in the
// conversation of one.
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

// eachPromptBringsItsMail sends to two windows, amber and coral, to which prompts like
// prompt-of-amber were given.
func eachPromptBringsItsMail(t *testing.T, l *lab.Lab, model *lab.Model, amber, coral *lab.Proc) {
	t.Helper()
	for alias, window := range map[string]*lab.Proc{"amber": amber, "coral": coral} {
		l.Run("sh", "-c", sendAs("birch", alias, "for-"+alias))
		model.Script(lab.Say("Had " + alias + "."))
		window.Submit("prompt-two")
		window.WaitShown("Had " + alias + ".")
		if r := model.WaitText("word-for-" + alias); len(r.Find("prompt-of-"+alias)) == 0 {
			t.Errorf("the mail of %s went to the other window:\n%s", alias, r)
		}
		wantRead(t, l, "id-for-"+alias, "read by hook")
	}
}

// inside scripts a subagent: its requests have no prompt of the session's person. left tells how
// many replies are left.
func inside(model *lab.Model, prompt string, steps ...lab.Reply) (left func() int) {
	var done atomic.Int32
	left = func() int { return len(steps) - int(done.Load()) }
	model.Answer(func(r *lab.Request) (reply lab.Reply, ok bool) {
		if len(r.Find(prompt)) > 0 || left() == 0 {
			return reply, false
		}
		return steps[done.Add(1)-1], true
	})
	return left
}

// mailStaysOutside wants all of a subagent's steps done, no mail shown in it, and no mailbox for
// it.
func mailStaysOutside(t *testing.T, l *lab.Lab, model *lab.Model, client lab.Client, prompt string, left func() int) {
	t.Helper()
	eventually(t, func() bool { return left() == 0 }) // it may go on in the background
	if left() > 0 {
		t.Errorf("the subagent has %d steps to go", left())
	}
	for _, r := range model.Turns() {
		if len(r.Find("word-meanwhile")) > 0 && len(r.Find(prompt)) == 0 {
			t.Errorf("the subagent got the mail:\n%s", r)
		}
	}
	wantMailboxes(t, l, client, 1)
}

// wokenByTyping sends to an idle window in whose terminal c2c types, and gives what its model sees.
func wokenByTyping(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, word string) lab.Item {
	t.Helper()
	model.Script(lab.Say("Had " + word + "."))
	l.Run("sh", "-c", sendAs("birch", "amber", word))
	item := once(t, model.WaitText("word-"+word), "word-"+word)
	p.WaitShown("Had " + word + ".")
	seesOnce(t, p, "word-"+word)
	wantRead(t, l, "id-"+word, "read by hook")
	return item
}

// nothingIsTypedOverADraft sends while half-typed-draft stands in the prompt. keys are what its
// person types for it.
func nothingIsTypedOverADraft(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, keys string) {
	t.Helper()
	p.Send(keys)
	p.WaitShown("half-typed-draft")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	p.Send(lab.Enter)
	r := model.WaitText("half-typed-draft")
	if item := once(t, r, "half-typed-draft"); strings.Contains(item.Text, "message_pending") {
		t.Errorf("the draft became %q", item.Text)
	}
	once(t, r, "word-meanwhile") // the prompt's hook has brought it
}

// nothingIsTypedIntoADialog sends while the client shows a question, in which Enter would make it
// run touch.
func nothingIsTypedIntoADialog(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, question string) {
	t.Helper()
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	p.WaitShown(question)
	p.Send(lab.Esc) // the person says no
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	if _, err := l.Try("test", "-e", touched(l)); err == nil {
		t.Error("the dialog was approved")
	}
}

// touched is the file that the command touches which a dialog asks about.
func touched(l *lab.Lab) string { return l.Home + "/touched" }

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
