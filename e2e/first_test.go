package e2e

import (
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"c2c/e2e/lab"
)

// What a newcomer types and sees, until the first message is read: testdata/first-message.txt.
//
//go:embed testdata/first-message.txt
var firstMessage string

// A newcomer is at a computer with Claude Code and Codex, which have never met c2c, with c2c's
// source, and with a project of their own.
type newcomer struct {
	t      *testing.T
	l      *lab.Lab
	env    []string
	script strings.Builder // what they type and see
	steps  int
}

// readme gives the commands of the README that begin so, as they stand there, in their order.
func readme(t *testing.T, begins ...string) (commands []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(os.Getenv("C2C_E2E_SOURCE"), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		command, code := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if command, _, _ = strings.Cut(command, "  #"); code && len(commands) < len(begins) && strings.HasPrefix(command, begins[len(commands)]) {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	if len(commands) != len(begins) {
		t.Fatalf("the README has %q, and then no command that begins with %s", commands, begins[len(commands)])
	}
	return commands
}

// types runs a command of one step, and writes down the lines of what it says that begin so.
func (n *newcomer) types(where, command, begin string) (out string) {
	n.t.Helper()
	n.step(where, command)
	dir := map[string]string{"source": os.Getenv("C2C_E2E_SOURCE"), "project": n.l.Project}[where]
	p := n.l.Shell(append(n.env, "TERM=dumb"), "cd "+dir+" && "+command)
	out = strings.ReplaceAll(p.Wait(), "\r", "")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, begin) {
			n.script.WriteString(line)
		}
	}
	return out
}

func (n *newcomer) step(where, command string) {
	n.steps++
	n.script.WriteString("\n# in the " + where + "\n$ " + command + "\n")
}

// sees writes down what a client shows or does.
func (n *newcomer) sees(what string) { n.script.WriteString(what + "\n") }

// From the README alone, in a project that is not the clone: a Claude Code is there after two
// commands and answers at the third, and a Codex reads after five, each with one question of the client.
func TestTheFirstMessageByTheREADME(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(map[string]any{"enableAllProjectMcpServers": false, "permissions": map[string]any{}})
	l.SeedCodex(codex, "")
	l.Write(".claude.json", strings.ReplaceAll(l.Read(".claude.json"), l.Project, "/elsewhere")) // Claude Code was never here
	n := &newcomer{t: t, l: l}
	build := filepath.SplitList(os.Getenv("C2C_E2E_GO"))
	path := l.Home + "/.local/bin:" + l.Path(lab.Claude, lab.Codex)
	n.env = append(l.ClaudeEnv(claude), "LAB_KEY=lab-key", "PATH="+path+":"+build[0]+"/bin",
		"GOROOT="+build[0], "GOCACHE="+build[1], "GOMODCACHE="+build[2], "GOPROXY=off")

	commands := readme(t, "make install", "c2c start --alias amber claude", "c2c ask amber ")
	n.step("source", commands[0])
	n.l.Shell(n.env, "cd "+os.Getenv("C2C_E2E_SOURCE")+" && "+commands[0]).Wait()
	n.asksClaude(claude, commands[1], commands[2])
	if n.steps > 3 {
		t.Errorf("%d steps", n.steps)
	}
	n.steps = 1 // make install is done for both
	n.types("project", "c2c install", "")
	n.writesToCodex(codex)
	if n.steps > 5 {
		t.Errorf("%d steps", n.steps)
	}

	got := strings.NewReplacer(l.Home, "~", l.Project, "~/project").Replace(n.script.String())
	got = regexp.MustCompile(`\b[0-9a-f]{8}\b`).ReplaceAllString(got, "<id>")
	got = regexp.MustCompile(`(?m)^(queued for .* as <id>).*`).ReplaceAllString(got, "$1") // its turn may just be ending
	got = regexp.MustCompile(`(?m)^codex-.*`).ReplaceAllString(got, "codex-<name> …")      // one line of the list
	got = regexp.MustCompile(`codex-[a-z0-9-]+`).ReplaceAllString(got, "codex-<name>")
	if strings.TrimSpace(got) != strings.TrimSpace(firstMessage) {
		t.Errorf("testdata/first-message.txt should be:\n%s", got)
	}
}

func (n *newcomer) asksClaude(model *lab.Model, start, ask string) {
	n.t.Helper()
	n.step("project, in one terminal", start)
	p := n.l.Shell(n.env, start)
	p.WaitShown("❯ No, exit")
	n.sees("Claude Code asks: Is this a project you created or one you trust?")
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	n.l.WaitUntil("prompt of Claude Code", func() bool { // it draws the question anew, and forgets the keys before
		switch screen := p.Screen(); {
		case strings.Contains(screen, "❯ No, exit"):
			p.Send(lab.Down)
		case strings.Contains(screen, "❯ Yes, I trust this folder"):
			p.Send(lab.Enter)
		case strings.Contains(screen, "shift+tab to cycle"), strings.Contains(screen, "? for shortcuts"):
			return true
		}
		<-tick.C
		return false
	})
	_, question, _ := strings.Cut(strings.TrimSuffix(ask, "'"), "'")
	model.Answer(replies(lab.Claude, question, "None yet.", nil))
	model.Script(lab.Say("I have answered."))
	n.types("project", ask, "    ")
	p.WaitShown("I have answered.")
	p.Kill()
}

func (n *newcomer) writesToCodex(model *lab.Model) {
	n.t.Helper()
	n.step("project, in one terminal", "c2c start codex")
	p := n.l.Shell(n.env, "c2c start codex")
	p.WaitShown("Hooks need review")
	n.sees("Codex asks: Hooks need review")
	trustsCodexHooks(n.l, p)
	model.Script(lab.Say("Hello."))
	p.Submit("Hello, Codex.")
	p.WaitShown("• Hello.")
	codexIdle(n.l, 1)
	list := n.types("project", "c2c list", "codex-")
	name := regexp.MustCompile(`codex-[a-z0-9-]+`).FindString(list)
	model.Script(lab.Say("I have read it."))
	n.types("project", "c2c send "+name+" 'The build is green again.'", "queued")
	model.WaitText("The build is green again.")
	p.WaitShown("I have read it.")
	n.sees("Codex reads: The build is green again.")
	p.Kill()
}
