package e2e

import (
	"fmt"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/inbox/mail"
)

// sends is a shell command that sends one word, put together there, with these options.
func sends(to, word, options string) string {
	return fmt.Sprintf("printf 'word-%%s' %[1]s | %[2]s send %[3]s --id id-%[1]s %[4]s -", word, c2c(), to, options)
}

// A true sender is known by its process, whether it calls the tool or the command; what it sends as
// another session is only claimed.
func TestASenderIsKnownByItsProcessOrOnlyClaims(t *testing.T) {
	t.Parallel()
	l, claude, opencode := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedOpenCode(opencode, nil)
	l.Run(c2c(), "install", "claude")
	l.Run(c2c(), "install", "opencode")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	p := claudeAt(t, l, claude, "--permission-mode", "default")
	opencode.Script(opencodeTool("me", map[string]any{"alias": "coral"}), lab.Say("Registered."))
	q := l.OpenCodeTUI()
	q.Submit("prompt-one")
	q.WaitShown("Registered.")

	seen := func(model *lab.Model, from, by, word string) {
		t.Helper()
		item := once(t, model.WaitText("word-"+word), "word-"+word)
		if want := fmt.Sprintf(`from="%s" by="%s" id="id-%s"`, from, by, word); !strings.Contains(item.Text, want) || strings.Contains(item.Text, mail.PrefaceStart) && !strings.Contains(item.Text, `by="`+by+`": `) {
			t.Errorf("the model sees %+v, want %s", item, want)
		}
		if got := status(l, "id-"+word); !strings.Contains(got, "\n  "+by+": ") {
			t.Errorf("status %q, want %s", got, by)
		}
		if got := l.Run(c2c(), "status", "id-"+word, "--json"); !strings.Contains(got, fmt.Sprintf(`"known_by":"%s"`, by)) && !strings.Contains(got, fmt.Sprintf(`"known_by": "%s"`, by)) {
			t.Errorf("status %s, want %s", got, by)
		}
	}
	send := func(model *lab.Model, window *lab.Proc, to *lab.Model, from, by, word string, call lab.Reply) {
		t.Helper()
		said, read := "Sent "+word+".", "Read "+word+"."
		model.Script(call, lab.Say(said))
		to.Script(lab.Say(read))
		window.Submit("please send " + word)
		seen(to, from, by, word)
		window.WaitShown(said)
		reader := map[*lab.Model]*lab.Proc{claude: p, opencode: q}[to]
		reader.WaitShown(read)
	}
	shell := func(command string) lab.Reply {
		return lab.Call("bash", map[string]any{"command": command, "description": "work"})
	}
	send(claude, p, opencode, "amber", "process", "one", bash(sends("coral", "one", "")))
	send(claude, p, opencode, "birch", "claimed", "two", bash(sends("coral", "two", "--from birch")))
	send(claude, p, opencode, "amber", "process", "three", toolSend(lab.Claude, "coral", "word-three", "id-three"))
	claudeIdle(l, claude)
	send(opencode, q, claude, "coral", "process", "four", shell(sends("amber", "four", "")))
	claudeIdle(l, claude)
	send(opencode, q, claude, "birch", "claimed", "five", shell("C2C_MCP_SESSION_ID=birch "+sends("amber", "five", "--from birch")))
	claudeIdle(l, claude)
	send(opencode, q, claude, "coral", "process", "six", toolSend(lab.OpenCode, "amber", "word-six", "id-six"))
}
