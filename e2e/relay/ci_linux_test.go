package relay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A CI job has an ssh key for devbox, and no c2c. docs/scripting.md says how it sends, and what
// goes wrong otherwise.
func TestAJobOfTheCISendsBySSH(t *testing.T) {
	n := connect(t)
	home := t.TempDir()
	ci := n.Bare("ci", home, filepath.Join(home, "job"))
	n.Reach(ci, n.devbox)
	local := filepath.Join(n.devbox.Home, ".local", "bin")
	if err := os.MkdirAll(local, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c2c", "c2cd"} {
		if err := os.Symlink(filepath.Join(os.Getenv(binEnv), name), filepath.Join(local, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ command, fails string }{
		{`ssh devbox 'PATH=/usr/bin:/bin; c2c list'`, "not found"}, // what sshd gives if nobody has set a PATH for it
		{`ssh devbox c2c send birch "it's done"`, "unexpected EOF"},
		{`ssh devbox 'cd ~/site && ~/.local/bin/c2c send birch one'`, "who sends? add --from NAME"},
		{`ssh devbox 'cd ~/site && ~/.local/bin/c2c send --from ci birch one'`, `no such alias "ci"`},
		{`ssh devbox 'cd ~/site && ~/.local/bin/c2c register --session-id ci ci'`, ""},
		{`printf '%s\n' "it's done: \$HOME, \"quoted\"" | ssh devbox 'cd ~/site && ~/.local/bin/c2c send --from ci birch -'`, ""},
	} {
		if out, err := unattended(ci, c.command); (err == nil) != (c.fails == "") || !strings.Contains(out, c.fails) {
			t.Errorf("%s: %v\n%s", c.command, err, out)
		}
	}
	n.devbox.Expect("ci: it's done: $HOME, \"quoted\"\n")
}

// A container has process ids and a home of its own. Two folders of the machine's ~/.c2c are
// mounted in it.
func TestAContainerThatMountsTheMailOfItsMachine(t *testing.T) {
	n := connect(t)
	inside := func(command string) string {
		t.Helper()
		home := filepath.Join(t.TempDir(), "root")
		script := `mkdir -p "$1/.c2c/repos" "$1/.c2c/projects" "$1/work" &&
mount --bind ~/.c2c/repos "$1/.c2c/repos" && mount --bind ~/.c2c/projects "$1/.c2c/projects" &&
export HOME="$1" C2C_MCP_SESSION_ID=oak && cd ~/work && git init -q && git remote add origin https://example.org/x/site && ` + command
		out, err := n.devbox.Cmd(nil, "unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", home).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	inside("c2c register oak && c2c send birch 'from the container'")
	n.devbox.Expect("oak: from the container")
	n.devbox.C2C("send", "oak", "to the container")
	if out := inside("c2c poll-inbox"); !strings.Contains(out, "to the container") {
		t.Errorf("it has\n%s", out)
	}
}
