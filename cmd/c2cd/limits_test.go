package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// shell runs a script with c2c on its path, as birch; amber is registered too.
type shell struct {
	t         *testing.T
	bin, home string
}

func newShell(t *testing.T) shell {
	t.Helper()
	s := shell{t, programs(t), filepath.Join(t.TempDir(), "home")}
	if err := os.Mkdir(s.home, 0o700); err != nil {
		t.Fatal(err)
	}
	s.want("c2c register amber --session-id amber; c2c register birch; c2c send amber before --id m-0")
	return s
}

func (s shell) command(script string) *exec.Cmd {
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir, cmd.SysProcAttr = s.home, &syscall.SysProcAttr{Setsid: true} // no terminal of whoever runs the tests
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + s.bin + ":" + os.Getenv("PATH"),
		"C2C_MCP_BROKER_ROOT=" + filepath.Join(s.home, "root"), "C2C_MCP_SESSION_ID=birch"}
	return cmd
}

func (s shell) want(script string) string {
	s.t.Helper()
	out, err := s.command("set -e; " + script).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// atTerminal runs a script whose controlling terminal and standard input is a terminal.
func (s shell) atTerminal(script string) (out string, err error) {
	s.t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	defer keyboard.Close()
	defer tty.Close()
	cmd := s.command("set -e; " + script)
	cmd.Stdin, cmd.SysProcAttr.Setctty = tty, true
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// mail is what waits for amber, in whichever file.
func (s shell) mail() string {
	s.t.Helper()
	return s.want("C2C_MCP_SESSION_ID=amber c2c peek-inbox --json")
}

// With one descriptor after the other, until a send has enough. How many it needs depends on what
// the runtime of Go has open (on files of control groups), and on what this process was given.
func TestTooFewDescriptorsRefuseAndLoseNothing(t *testing.T) {
	s := newShell(t)
	before, refused := s.mail(), 0
	for limit := 4; ; limit++ {
		out, err := s.command(fmt.Sprintf("ulimit -n %d; exec c2c send amber x", limit)).CombinedOutput()
		after := s.mail()
		switch {
		case err == nil:
			if after == before || strings.Count(after, `"message_id"`) != 2 {
				t.Errorf("%d descriptors: it says %s, and the mail is %.300s", limit, out, after)
			}
			if refused < 3 {
				t.Errorf("refused with %d limits only", refused)
			}
			return
		case after != before:
			t.Errorf("%d descriptors: the mail became %.200s", limit, after)
		case strings.Contains(string(out), "too many open files"):
			refused++
		case !strings.HasPrefix(string(out), "runtime: "): // which has ended the program before it could read anything
			t.Errorf("%d descriptors: %v: %.300s", limit, err, out)
		}
		if limit == 64 {
			t.Fatalf("64 descriptors are too few: %s", out)
		}
	}
}

func TestLimitsOfTheSystemRefuseAndLoseNothing(t *testing.T) {
	s := newShell(t)
	before := s.mail()
	long := `"$(head -c 100000 /dev/zero | tr '\0' x)"`
	for _, tc := range []struct{ limit, body, says string }{
		{"touch probe; chattr +i probe 2>/dev/null && chattr -i probe && chattr +i root/amber.inbox.json", "x", "operation not permitted"},
		// Last: before it is refused, the inbox has been made a numbered file.
		{"ulimit -f 1; trap '' XFSZ", long, "file too large"},
	} {
		out, err := s.command(tc.limit + " || exit 77; c2c send amber " + tc.body).CombinedOutput()
		s.command("chattr -i root/amber.inbox.json").Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 77 {
			t.Logf("%s: this file system or user cannot", tc.limit)
			continue
		}
		if err == nil || !strings.Contains(string(out), tc.says) {
			t.Errorf("%s: %v: %.300s", tc.limit, err, out)
		}
		if after := s.mail(); after != before {
			t.Errorf("%s: the mail became %.200s", tc.limit, after)
		}
	}
	s.want("c2c send amber after --id m-1")
	if out := s.want("C2C_MCP_SESSION_ID=amber c2c poll-inbox"); !strings.Contains(out, "before") || !strings.Contains(out, "after") {
		t.Errorf("read %s", out)
	}
	if out := s.want("find root -name '*.tmp.*'"); out != "" {
		t.Errorf("litter %s", out)
	}
}

// Another user of the machine finds nothing to read and nowhere to write.
func TestAnotherUserIsKeptOut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can become another user: what the modes allow is tested alone")
	}
	s := newShell(t)
	if out := s.want(`find root .c2c 2>/dev/null -perm /077 || true`); out != "" {
		t.Errorf("others may use %s", out)
	}
	if os.Geteuid() != 0 {
		return
	}
	for _, dir := range []string{s.home, filepath.Dir(s.home), s.bin, filepath.Dir(s.bin)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for script, says := range map[string]string{
		"c2c list":                  "permission denied",
		"c2c send amber hello":      "permission denied",
		"cat root/registry.json":    "Permission denied",
		"echo x > root/planted":     "Permission denied",
		"cat root/amber.inbox.json": "Permission denied",
	} {
		cmd := s.command(script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
	// Nor does root make a folder in another user's home.
	home := filepath.Join(s.home, "theirs")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	cmd := s.command("env -u C2C_MCP_BROKER_ROOT -u XDG_STATE_HOME HOME=" + home + " c2c register x --session-id x")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "run c2c as that user") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("it has left %v, %v", left, err)
	}
	// And a root that another user owns is not ours.
	if err := os.Chown(filepath.Join(s.home, "root"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if out, err := s.command("c2c list").CombinedOutput(); err == nil || !strings.Contains(string(out), "belongs to uid 65534") {
		t.Errorf("%v: %s", err, out)
	}
}

// Ctrl-Z stops c2c ask, and fg lets it go on when its time is over.
func TestAStoppedAskHandsOverTheAnswerThatCameMeanwhile(t *testing.T) {
	s := newShell(t)
	for range 3 { // what it sees first is up to chance
		// The file of the last round must not count as what this ask says.
		out := s.want(`: >said; c2c ask amber --wait 3s 'which port?' >said 2>&1 & asks=$!
			until grep -q waiting said; do :; done
			over=$(($(date +%s) + 4))
			kill -STOP $asks
			id=$(grep -o ' as [0-9a-f]*' said | cut -c5-12)
			c2c reply --session-id amber $id 8080 >reply
			until [ $(date +%s) -ge $over ]; do :; done
			kill -CONT $asks
			wait $asks || :
			cat said; c2c poll-inbox`)
		if strings.Count(out, "\n8080\n") != 1 || strings.Contains(out, "no answer yet") || !strings.Contains(out, "(no messages)") {
			t.Errorf("%s", out)
		}
	}
}
