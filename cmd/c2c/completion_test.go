package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"c2c/cmd/cli"
	"c2c/e2e/need"
)

func TestCompletionKnowsVerbsOptionsAliasesAndFiles(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "amber", "send", "birch", "--id", "q-1", "one")
	mustRun(t, root, "birch", "send", "amber", "--id", "q-2", "three")
	for _, name := range []string{"design", "review"} {
		if err := os.MkdirAll(filepath.Join(root, "rooms", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"pee":                        "peek-inbox",
		"help exi":                   "exit-codes",
		"help se":                    "send search serve senders send-all",
		"send ":                      "amber birch",
		"send --from b":              "birch",
		"send --urgent a":            "amber",
		"send --kind ques":           "question",
		"send --kind=ques":           "--kind=question",
		"send --kind = ques":         "question", // as bash takes it apart
		"send amber --dry":           "",
		"send amber b":               "",
		"resume amber b":             "birch",
		"handover birch ":            "amber birch",
		"send amber --def":           "--deferrable",
		"send -F ":                   ":",
		"send -- a":                  ":",
		"history --limit ":           "",
		"rooms jo":                   "join",
		"rooms join ":                "design review",
		"rooms history --json r":     "review",
		"rooms join review ":         "",
		"dnd o":                      "on off",
		"poll-inbox --session-id am": "amber",
		"start --al":                 "--alias",
		"wire-daemon st":             "start stop status",
		"completion f":               "fish",
		"nonsense ":                  "",
		"status ":                    "q-2 q-1",
		"thread q-":                  "q-2 q-1",
		"reply ":                     "q-2",
		"send birch --reply-to ":     "q-2",
		"reply q-2 ":                 "",
		"migrate-root --d":           "--dry-run",
		"send-all ":                  "",
	} {
		out := mustRun(t, root, "amber", append([]string{completeVerb}, strings.Split(line, " ")...)...)
		var words []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			words = append(words, word)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if out := mustRun(t, root, "", completeVerb); strings.Count(out, "\n") != len(cli.VerbNames())+1 {
		t.Errorf("nothing typed: %s", out)
	}
	missing := filepath.Join(root, "not", "there")
	if out := mustRun(t, missing, "", completeVerb, "send", ""); out != "" {
		t.Errorf("without a root: %q", out)
	}
	if _, err := os.Stat(filepath.Dir(missing)); !os.IsNotExist(err) {
		t.Errorf("completion made a root: %v", err)
	}
}

// An alias or id that somebody wrote into a file is no command for the shell of who presses Tab.
func TestCompletionOffersNoWordThatAShellWouldRun(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	const evil = `[{"session_id":"a","alias":"$(touch${IFS}ran)","registered_at":1.0},{"session_id":"b","alias":"--json","registered_at":1.0},
		{"session_id":"c","alias":"x\nforged","registered_at":1.0},{"session_id":"d","alias":"amber","registered_at":1.0,"client_type":"k\n:"}]`
	if err := os.WriteFile(filepath.Join(root, "registry.json"), []byte(evil), 0o600); err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, root, "", completeVerb, "send", "")
	if !strings.HasPrefix(out, "amber\t") || strings.Count(out, "\n") != 1 {
		t.Errorf("it offers %q", out)
	}
	mail := `[{"from_alias":"x\n","to_alias":"amber","content":"\u001b[2J\n:","ts":1.5,"message_id":"$(touch${IFS}ran)"},{"from_alias":"b","to_alias":"amber","content":"\u001b[2J\n:","ts":1.5,"message_id":"q-1"}]`
	if err := os.WriteFile(filepath.Join(root, "d.inbox.json"), []byte(mail), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, root, "d", completeVerb, "reply", ""); !strings.HasPrefix(out, "q-1\t") || strings.Count(out, "\n") != 1 || strings.Contains(out, "\x1b") {
		t.Errorf("of messages it offers %q", out)
	}
}

// Each line is typed into a real shell, and what the shell made of it has run.
func TestTheShellsComplete(t *testing.T) {
	for name, tc := range map[string]struct{ start, tab string }{
		"bash": {"bash --norc --noprofile -i", "source <(c2c completion bash)\n"},
		"zsh":  {"zsh -f -i", "autoload -Uz compinit; compinit -u; zstyle ':completion:*' insert-tab false\nsource <(c2c completion zsh)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need.Tools(t, name)
			root, env := shellHome(t)
			words := strings.Fields(tc.start)
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Env, cmd.Dir = env, filepath.Dir(root)
			screen, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer screen.Close()
			// am, --ki and qu are completed; the text is none of c2c's words.
			if _, err := screen.WriteString(tc.tab + "c2c sen\t am\t'hello there' --ki\tqu\t--fr\tbi\t\nexit\n"); err != nil {
				t.Fatal(err)
			}
			var shown strings.Builder
			buf := make([]byte, 4096)
			for {
				n, err := screen.Read(buf)
				shown.Write(buf[:n])
				if err != nil { // the shell has ended
					break
				}
			}
			cmd.Wait()
			if out := mustRun(t, root, "amber", "peek-inbox"); !strings.Contains(out, "hello there") || !strings.Contains(out, `from="birch"`) || !strings.Contains(out, "question") {
				t.Errorf("amber has %s\nthe terminal shows %s", out, shown.String())
			}
		})
	}
	t.Run("fish", func(t *testing.T) {
		t.Parallel()
		need.Tools(t, "fish")
		root, env := shellHome(t)
		for line, want := range map[string]string{"c2c send am": "amber", "c2c send amber --ki": "--kind", "c2c wh": "whoami", "c2c send amber -F ro": "root/"} {
			cmd := exec.Command("fish", "--no-config", "-c", "c2c completion fish | source; complete -C '"+line+"'")
			cmd.Env, cmd.Dir = env, filepath.Dir(root)
			out, err := cmd.CombinedOutput()
			if word, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\t"); err != nil || word != want {
				t.Errorf("%q: %q, %v, want %s", line, out, err, want)
			}
		}
	})
}

// shellHome is a home with two sessions, and c2c on PATH.
func shellHome(t *testing.T) (root string, env []string) {
	t.Helper()
	root = scratch(t)
	self, err := os.Executable() // it is c2c under that name, as in the scripts
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(filepath.Dir(root), "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "c2c")); err != nil {
		t.Fatal(err)
	}
	return root, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + filepath.Dir(root), "TERM=dumb", "C2C_MCP_BROKER_ROOT=" + root}
}

// A shell with C2C_ANNOUNCE=1 tells its person of mail at the next prompt, once, and keeps the
// status of what was typed. Where a person has no mailbox it makes none.
func TestTheShellsAnnounceMail(t *testing.T) {
	const told = "c2c: you have mail: c2c poll-inbox"
	for name, tc := range map[string]struct{ start, load string }{
		"bash": {"bash --norc --noprofile -i", "source <(c2c completion bash); source <(c2c completion bash)\n"},
		"zsh":  {"zsh -f -i", "autoload -Uz compinit; compinit -u; source <(c2c completion zsh); source <(c2c completion zsh)\n"},
		"fish": {"fish --no-config -i", "c2c completion fish | source\n"},
	} {
		for wanted, times := range map[string]int{"1": 2, "": 0} {
			t.Run(name+wanted, func(t *testing.T) {
				t.Parallel()
				need.Tools(t, name)
				root, env := shellHome(t)
				env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "C2C_MCP_SESSION_ID=") })
				words := strings.Fields(tc.start)
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Env, cmd.Dir = append(env, "USER=ada", "C2C_ANNOUNCE="+wanted, "TERM=dumb"), filepath.Dir(root)
				screen, err := pty.Start(cmd)
				if err != nil {
					t.Fatal(err)
				}
				defer screen.Close()
				send := "env C2C_MCP_SESSION_ID=amber c2c send ada "
				status := "(exit 7)\necho status=$?\n"
				if name == "fish" {
					status = "sh -c 'exit 7'\necho status=$status\n"
				}
				if _, err := screen.WriteString(tc.load + "c2c list\nc2c register ada\n" + send + "one\n" + status + "c2c poll-inbox\n" + send + "two\necho\nexit\n"); err != nil {
					t.Fatal(err)
				}
				shown, _ := io.ReadAll(screen) // until the shell has ended
				cmd.Wait()
				out := string(shown)
				if got := strings.Count(out, told+"\r\n"); got != times || !strings.Contains(out, "status=7") {
					t.Errorf("announced %d times, want %d:\n%s", got, times, out)
				}
				if list, _, _ := strings.Cut(out, "person-"); strings.Contains(list, "human") {
					t.Errorf("it has made a mailbox for its person:\n%s", out)
				}
			})
		}
	}
}
