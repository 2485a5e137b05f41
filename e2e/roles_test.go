package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// writes returns the reply in which a client's model writes a new file.
func writes(c lab.Client, file string) lab.Reply {
	switch c {
	case lab.Codex:
		return shell("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: " + filepath.Base(file) + "\n+text\n*** End Patch\nEOF\n")
	case lab.Claude:
		return lab.Call("Write", map[string]any{"file_path": file, "content": "text"})
	case lab.Kimi:
		return lab.Call("Write", map[string]any{"path": file, "content": "text"})
	case lab.OpenCode:
		return lab.Call("write", map[string]any{"filePath": file, "content": "text"})
	case lab.Copilot:
		return lab.Call("create", map[string]any{"path": file, "file_text": "text"})
	}
	return lab.Call("write_file", map[string]any{"file_path": file, "content": "text"})
}

// Each model gets every kind of text from its peers: mail when idle and in a turn, new posts of a
// room, a notice of c2c and the reason of a claim. In no request it stands in the role of the
// client's developers or its system. Claude Code alone has no other role for the text of a hook;
// SECURITY.md says so.
func TestNoModelTakesItsPeersForItsDevelopers(t *testing.T) {
	t.Parallel()
	all := slices.Clone(ring)
	all[0].seed = func(l *lab.Lab, _ *lab.Model) {
		l.SeedClaude(map[string]any{"permissions": map[string]any{"allow": []string{"Write"}}})
	}
	const post, idle, turn, notice, reason = "word-of-a-post", "word-at-rest", "word-in-a-turn", "word-of-a-notice", "word-of-a-claim"
	var sent []chan struct{}
	for range all {
		sent = append(sent, make(chan struct{}))
	}
	fileOf := func(l *lab.Lab, i int) string { return filepath.Join(l.Project, string(all[i].client)+".go") }
	var l *lab.Lab
	l, models, procs := roomLab(t, nil, all, func(i int) func(*lab.Request) (lab.Reply, bool) {
		return func(r *lab.Request) (lab.Reply, bool) {
			name := writes(all[i].client, "").Calls[0].Name
			switch {
			case len(r.Find("please edit")) == 0 && len(r.Find(idle)) == 0:
				return lab.Say("Registered."), true
			case len(r.Find("please edit")) == 0:
				return lab.Say("Noted."), true
			case !called(r, name):
				return writes(all[i].client, fileOf(l, i)).After(sent[i]), true
			case !called(r, "poll_inbox"):
				return lab.CallMCP(all[i].client, "c2c", "poll_inbox", map[string]any{}), true
			}
			return lab.Say("All done."), true
		}
	})
	l.Run(c2c(), "rooms", "create", notice, "--from", "dana")
	l.Run(c2c(), "send", "#review", post, "--from", "dana")
	for i, is := range all {
		l.Run(c2c(), "claim", fileOf(l, i), "--why", reason, "--from", "dana")
		l.Run(c2c(), "send", memberOf(is), idle, "--from", "dana")
		if is.asked {
			procs[i].Submit("anything new")
		}
		models[i].WaitText(idle)
		procs[i].WaitShown("Noted.")
		procs[i].Submit("please edit")
		models[i].WaitText("please edit")
		l.Run(c2c(), "send", memberOf(is), turn, "--from", "dana")
		l.Run(c2c(), "rooms", "invite", notice, memberOf(is), "--from", "dana")
		close(sent[i])
		procs[i].WaitShown("All done.")
		models[i].WaitText(turn)
		models[i].WaitText(notice)
	}
	for i, is := range all {
		roles := map[string]string{}
		for _, r := range models[i].Turns() {
			for _, item := range r.Items {
				for _, word := range []string{post, idle, turn, notice, reason} {
					if !strings.Contains(item.Text, word) || item.Role == "assistant" {
						continue
					}
					roles[word] = item.Role
					prompt := item.Message < 0
					if item.Role == "developer" || item.Role == "system" && (is.client != lab.Claude || prompt) {
						t.Errorf("%s: %s is in the role %s: %.400q", is.client, word, item.Role, item.Text)
					}
				}
			}
		}
		t.Logf("%s: %v", is.client, roles)
		for _, word := range []string{post, idle, turn, notice, reason} {
			if word == reason && (is.client == lab.Codex || is.client == lab.Kimi) {
				continue // they are told without it
			}
			if roles[word] == "" {
				t.Errorf("%s has not seen %s:\n%s", is.client, word, fmt.Sprint(last(models[i])))
			}
		}
	}
}
