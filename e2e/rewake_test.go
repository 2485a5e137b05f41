package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/e2e/lab"
	"c2c/wake"
)

// serverOf finds the c2c server among the processes that a client has started.
func serverOf(t *testing.T, client int) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, _ := os.ReadFile(path) // it may have ended
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		_, rest, ok := strings.Cut(string(data), ") ") // the name before it may hold anything
		fields := strings.Fields(rest)
		if ok && len(fields) > 1 && fields[1] == strconv.Itoa(client) && strings.Contains(string(line), "c2cd\x00mcp") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("client %d has no c2c server", client)
	return 0
}

// end kills a process that is not our child, and returns when its parent has taken notice.
func end(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	err := syscall.Kill(pid, syscall.SIGKILL)
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); <-tick.C {
		err = syscall.Kill(pid, 0)
	}
	if !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("end process %d: %v", pid, err)
	}
}

// aloneLab has an idle Claude Code amber that has lost its server.
func aloneLab(t *testing.T, settings map[string]any, args ...string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model, p := wakeLab(t, settings, args...)
	end(t, serverOf(t, p.Pid()))
	return l, model, p
}

// The server of this client says nothing of its absence: Claude Code does not start another one.
func TestAnIdleClaudeThatLostItsServerIsWokenByItsOwnWatch(t *testing.T) {
	t.Parallel()
	l, model, p := aloneLab(t, nil)
	p.Send("half-typed-draft")
	p.WaitScreen(0, "half-typed-draft")
	const trials = 5
	var took []time.Duration
	for i := range trials {
		word, answer := fmt.Sprintf("alone-%d", i), fmt.Sprintf("Woken %d.", i)
		model.Script(lab.Say(answer))
		start := time.Now()
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		r := model.WaitText("word-" + word)
		took = append(took, r.Time.Sub(start))
		if item := once(t, r, "word-"+word); !strings.HasPrefix(item.Text, "UserPromptSubmit hook additional context: ") {
			t.Errorf("shown as %+v", item)
		}
		if ring := r.Find("[SYSTEM NOTIFICATION - NOT USER INPUT]"); len(ring) != i+1 || !strings.Contains(ring[i].Text, `count="1" from="birch"`) {
			t.Errorf("rung with %+v", ring)
		}
		if len(r.Find("half-typed-draft")) > 0 {
			t.Errorf("the draft was sent:\n%s", r)
		}
		p.WaitScreen(0, answer)
		claudeIdle(l, model)
	}
	slices.Sort(took)
	t.Logf("send to API request: min %v, median %v, max %v", took[0], took[trials/2], took[trials-1])
	for i := range trials {
		onlyOnce(t, model.Turns(), fmt.Sprintf("word-alone-%d", i), "")
		wantRead(t, l, fmt.Sprintf("id-alone-%d", i), "read by hook")
	}
	wantRingsBy(t, l, wake.ByFile, trials)
	p.Send(lab.Enter)
	model.WaitText("half-typed-draft")
}

func TestItsOwnWatchAnswersNoDialog(t *testing.T) {
	t.Parallel()
	l, model, p := aloneLab(t, askFirst, "--permission-mode", "default")
	answersNoDialog(t, l, model, p, func() {
		l.WaitFile(".c2c/repos/*/broker/sessions/*.json", `"method": "filechanged"`) // the log has it before
	}, "rung")
}

// Nobody looks again for a session without its server, so it is rung while it works. What its hook
// after a tool has brought by then is not brought again.
func TestABusyClaudeThatLostItsServerReadsOnce(t *testing.T) {
	t.Parallel()
	l, model, p := aloneLab(t, nil)
	work := make(chan struct{})
	model.Script(bash("true").After(work), lab.Say("Finished."), lab.Say("And woken."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"method":"filechanged","outcome":"rang"`)
	close(work)
	model.WaitText("word-meanwhile")
	p.WaitScreen(0, "Finished.")
	claudeIdle(l, model)
	onlyOnce(t, model.Turns(), "word-meanwhile", "")
}

// recorded puts a program in the place of c2c in the hook script, which notes each event and how it
// ended.
func recorded(t *testing.T, l *lab.Lab) {
	t.Helper()
	between := l.Write("between", "#!/bin/sh\nin=$(cat)\nprintf '%s' \"$in\" | '"+c2c()+"' \"$@\"\nstatus=$?\n"+
		"printf 'exit %s of %s\\n' $status \"$in\" >>\"$HOME/hooks\"\nexit $status\n")
	const script = ".claude/hooks/c2c-inbox-check.sh"
	before := l.Read(script)
	after := strings.Replace(before, c2c(), between, 1)
	if after == before {
		t.Fatalf("the script does not name %s:\n%s", c2c(), before)
	}
	l.Write(script, after)
}

func TestWhileTheServerLivesItAloneRings(t *testing.T) {
	t.Parallel()
	l, model, p := wakeLab(t, claudeHooks(map[string]string{"FileChanged": capture("$HOME/changed")}))
	recorded(t, l)
	// A busy session is not rung, so the mail waits when the client sees the change.
	work := make(chan struct{})
	model.Script(bash("true").After(work), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	claudeIs(l, "busy")
	l.Run("sh", "-c", sendAs("birch", "amber", "busy"))
	l.WaitFile("hooks", "FileChanged")
	l.WaitFile("changed.jsonl", "FileChanged")
	for _, line := range lines(l.Read("hooks")) {
		if !strings.HasPrefix(line, "exit 0 of ") {
			t.Errorf("%s", line)
		}
	}
	close(work)
	once(t, model.WaitText("word-busy"), "word-busy")
	p.WaitScreen(0, "Finished.")
	claudeIdle(l, model)

	if err := os.Remove(l.Home + "/changed.jsonl"); err != nil {
		t.Fatal(err)
	}
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "idle"))
	model.WaitText("word-idle")
	p.WaitScreen(0, "Woken.")
	l.WaitFile("changed.jsonl", "FileChanged")
	onlyOnce(t, model.Turns(), "word-idle", "user")
	wantRingsBy(t, l, wake.BySocket, 1)
	wantRingsBy(t, l, wake.ByFile, 0)
}

// The tests below need no c2c: they pin what c2c relies on in Claude Code.

// changes are the file's name and what happened, a line each, as the FileChanged hook was told.
func changes(l *lab.Lab) (all []string) {
	data, _ := os.ReadFile(l.Home + "/changed.jsonl") // none yet
	for _, line := range lines(string(data)) {
		var e struct {
			Path  string `json:"file_path"`
			Event string
		}
		if json.Unmarshal([]byte(line), &e) == nil {
			all = append(all, filepath.Base(e.Path)+" "+e.Event)
		}
	}
	return all
}

// The inbox is replaced by its writers and renamed by its readers, and a watch of such a file may
// end (it does in most runs of 2.1.329): the lock file stays.
func TestClaudeWatchesAFileThatStays(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Write("stays", "")
	l.SeedClaude(claudeHooks(map[string]string{
		"SessionStart": `printf '{"hookSpecificOutput":{"hookEventName":"SessionStart","watchPaths":["%s/stays"]}}' "$HOME"`,
		"FileChanged":  capture("$HOME/changed"),
	}))
	p := l.ClaudeTUI(model)
	p.Submit("prompt-one")
	p.WaitScreen(0, "Done.")
	for i := range 3 {
		l.Run("sh", "-c", "cd && : <>stays; touch stays") // opening and closing is no change
		eventually(t, func() bool { return len(changes(l)) > i })
		if got := changes(l); len(got) != i+1 || got[i] != "stays change" {
			t.Fatalf("after change %d: %q", i+1, got)
		}
	}
}
