package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// letters are what birch sends: one long message, and more than an answer of Codex holds that are
// not.
func letters(long int) map[string]string {
	all := map[string]string{"id-long": sized(long, "x")}
	for i := range 12 {
		all[fmt.Sprintf("id-%02d", i)] = fmt.Sprintf("letter-%02d ", i) + strings.Repeat("y", 3200)
	}
	return all
}

// sendLetters is a shell command by which birch sends them to an alias, the long one first.
func sendLetters(l *lab.Lab, alias string, all map[string]string) string {
	script := "export C2C_MCP_SESSION_ID=birch\n"
	for _, id := range append([]string{"id-long"}, sortedShort(all)...) {
		l.Write("letters/"+id, all[id])
		script += fmt.Sprintf("%s send %s --id %s -F %s/letters/%s >/dev/null || exit 1\n", c2c(), alias, id, l.Home, id)
	}
	l.Write("letters/send.sh", script)
	return "sh " + l.Home + "/letters/send.sh"
}

func sortedShort(all map[string]string) (ids []string) {
	for i := range len(all) - 1 {
		ids = append(ids, fmt.Sprintf("id-%02d", i))
	}
	return ids
}

// sees says whether a request shows the model a message whole, in one piece or in all its parts.
func sees(r *lab.Request, id, body string) bool {
	joined, next := "", 1
	for _, item := range r.Items {
		if strings.Contains(item.Text, body) {
			return true
		}
		i := strings.Index(item.Text, "[{")
		if item.Role != "tool" || i < 0 {
			continue
		}
		var msgs []struct {
			ID      string `json:"message_id"`
			Content string
			Part    int
		}
		if json.NewDecoder(strings.NewReader(item.Text[i:])).Decode(&msgs) != nil {
			continue
		}
		for _, m := range msgs {
			if m.ID == id && m.Part == next {
				joined, next = joined+m.Content, next+1
			}
		}
	}
	return joined == body
}

// wantTruth compares what the recorded requests show with what status calls read.
func wantTruth(t *testing.T, l *lab.Lab, model *lab.Model, all map[string]string) {
	t.Helper()
	turns := model.Turns()
	last, read := turns[len(turns)-1], 0
	for id, body := range all {
		var status struct{ State string }
		if err := json.Unmarshal([]byte(l.Run(c2c(), "status", id, "--json")), &status); err != nil {
			t.Fatal(err)
		}
		if seen := sees(last, id, body); seen != (status.State == "read") {
			t.Errorf("%s is %s; that the model has seen it whole is %v", id, status.State, seen)
		}
		if status.State == "read" {
			read++
		}
	}
	t.Logf("%d of %d are read", read, len(all))
	if !sees(last, "id-long", all["id-long"]) || read < 5 {
		t.Errorf("%d of %d are read", read, len(all))
	}
}

func TestClaudeReadsALongMessageInParts(t *testing.T) {
	t.Parallel()
	l, model := mailLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	all := letters(200_000)
	model.Script(bash(sendLetters(l, "amber", all)))
	for range 7 {
		model.Script(lab.CallMCP(lab.Claude, "c2c", "poll_inbox", map[string]any{}))
	}
	model.Script(lab.Say("Finished."))
	p := l.Claude(model, "-p", "--allowedTools=mcp__c2c,Bash", "please read")
	p.CloseInput()
	p.Wait()
	wantTruth(t, l, model, all)
}

func TestCodexReadsALongMessageInParts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gpt-5.5", "nobody-knows-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			l.Run(c2c(), "register", "birch", "--session-id", "birch")
			l.SeedCodex(model, "")
			l.Write(".codex/config.toml", strings.Replace(l.Read(".codex/config.toml"), "gpt-5.2-codex", name, 1))
			l.Run(c2c(), "install", "codex")
			l.TrustCodexHooks()
			all := letters(30_000)
			model.Script(lab.CallMCP(lab.Codex, "c2c", "me", map[string]any{"alias": "cody"}), shell(sendLetters(l, "cody", all)))
			for range 6 {
				model.Script(lab.CallMCP(lab.Codex, "c2c", "poll_inbox", map[string]any{}))
			}
			model.Script(lab.Say("Finished."))
			l.CodexExec("please read").Wait()
			wantTruth(t, l, model, all)
		})
	}
}

// looks has a client call the probe once for each size and piece, and tells which answers its model
// got whole.
func looks(c lab.Client, model *lab.Model, run func(), sizes ...int) (whole []bool) {
	pieces := []string{"x", "\u4e2d", "\""}
	for _, n := range sizes {
		for _, piece := range pieces {
			model.Script(lab.CallMCP(c, "probe", "look", map[string]any{"size": n, "piece": piece}))
		}
	}
	run()
	last := model.Wait(len(sizes) * len(pieces))
	for _, n := range sizes {
		all := true
		for _, piece := range pieces {
			all = all && len(last.Find(sized(n, piece))) == 1
		}
		whole = append(whole, all)
	}
	return whole
}

// The limits in client hold, and not because the clients cut nothing.
func TestClaudePassesOnAToolAnswerOf40000Bytes(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.WriteProject(".mcp.json", claudeProbe(t, l))
	got := looks(lab.Claude, model, func() {
		p := l.Claude(model, "-p", "please look")
		p.CloseInput()
		p.Wait()
	}, 39_950, 51_000)
	if !got[0] || got[1] {
		t.Errorf("whole: %v", got)
	}
}

func TestCodexPassesOnAToolAnswerOf9500Bytes(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]int{"gpt-5.5": 49_000, "nobody-knows-1": 12_100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			program, args := probe(t, l)
			l.SeedCodex(model, fmt.Sprintf("[mcp_servers.probe]\ncommand = %q\nargs = [%q, %q]\n", program, args[0], args[1]))
			l.Write(".codex/config.toml", strings.Replace(l.Read(".codex/config.toml"), "gpt-5.2-codex", name, 1))
			if got := looks(lab.Codex, model, func() { l.CodexExec("please look").Wait() }, 9450, cut); !got[0] || got[1] {
				t.Errorf("whole: %v", got)
			}
		})
	}
}

// A client's shell tool cuts long output: c2c poll-inbox prints what it passes on, and the rest
// waits.
func TestClaudesShellShowsWhatItReads(t *testing.T) {
	t.Parallel()
	for _, most := range []string{"", "12000"} { // what its person sets
		t.Run("most "+most, func(t *testing.T) {
			t.Parallel()
			l, model := mailLab(t), lab.NewModel(t)
			l.Setenv("BASH_MAX_OUTPUT_LENGTH", most)
			l.SeedClaude(nil)
			polledInShell(t, l, model, "amber", 36_000, nil, bash, func() {
				p := l.Claude(model, "-p", "--allowedTools=Bash", "please read")
				p.CloseInput()
				p.Wait()
			})
		})
	}
}

func TestCodexShellShowsWhatItReads(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	l.SeedCodex(model, "")
	l.Write(".codex/config.toml", strings.Replace(l.Read(".codex/config.toml"), "gpt-5.2-codex", "nobody-knows-1", 1))
	l.Run(c2c(), "install", "codex")
	polledInShell(t, l, model, "cody", 12_000, []lab.Reply{lab.CallMCP(lab.Codex, "c2c", "me", map[string]any{"alias": "cody"})}, shell,
		func() { l.CodexExec("please read").Wait() })
}

func polledInShell(t *testing.T, l *lab.Lab, model *lab.Model, alias string, long int, first []lab.Reply, run func(string) lab.Reply, start func()) {
	all := letters(long)
	model.Script(first...)
	model.Script(run(sendLetters(l, alias, all)), run(c2c()+" poll-inbox"), run(c2c()+" poll-inbox --json"),
		run(c2c()+" status id-long"), run(c2c()+" poll-inbox > "+l.Home+"/polled"), lab.Say("Finished."))
	start()
	turns := model.Turns()
	last, shown := turns[len(turns)-1], 0
	polled := l.Read("polled")
	for id, body := range all {
		saw, filed := len(last.Find(body)) > 0, strings.Contains(polled, body)
		if saw == filed {
			t.Errorf("%s: the model saw it: %v, and the file has it: %v", id, saw, filed)
		}
		if saw {
			shown++
		}
	}
	if shown < 4 || len(last.Find("is too long to show here")) != 2 || len(last.Find("id-long: rung")) != 1 {
		t.Errorf("the model saw %d of %d:\n%s", shown, len(all), last)
	}
}
