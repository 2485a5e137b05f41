package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"

	"c2c/cmd/cli"
)

// A person with several projects sees all of them from any folder, writes into each, and gets the
// answers there.
func TestAPersonHasAllProjectsFromAnyFolder(t *testing.T) {
	root, env := shellHome(t)
	home := filepath.Dir(root)
	env = append(slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "C2C_MCP_BROKER_ROOT") }), "USER=ada")
	for _, folder := range []string{"shop", "api"} {
		git := filepath.Join(home, folder, ".git")
		if err := errors.Join(os.MkdirAll(filepath.Join(git, "objects"), 0o700), os.Mkdir(filepath.Join(git, "refs"), 0o700),
			os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	config := "[remote \"origin\"]\n\turl = git@h.org:me/store.git\n"
	if err := os.WriteFile(filepath.Join(home, "shop", ".git", "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	shows := func(folder, command string, more ...string) string {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Env, cmd.Dir = append(slices.Clone(env), more...), filepath.Join(home, folder)
		screen, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		defer screen.Close()
		shown, _ := io.ReadAll(screen)
		cmd.Wait()
		return strings.ReplaceAll(string(shown), "\r\n", "\n")
	}
	if out := shows(".", "c2c list --everywhere"); !strings.HasPrefix(out, "(no session runs in any project; c2c start --alias amber ") {
		t.Errorf("of an empty home: %q", out)
	}
	shows("shop", "c2c register amber --session-id amber")
	shows("api", "c2c register birch --session-id birch")
	for _, name := range []string{"shop", "store", "h.org/me/store", "~/shop", "../shop", "sho"} {
		out := shows("api", "c2c send amber --project "+name+" 'for "+name+"'")
		if known := name != "sho"; strings.Contains(out, "queued for amber as ") != known || !known && !strings.Contains(out, "the projects of this user are ") {
			t.Errorf("send to %s: %q", name, out)
		}
	}
	shows("shop", "c2c poll-inbox --from amber")
	shows("shop", "c2c send ada 'the answer' --from amber")
	if out := shows("api", "c2c list --everywhere"); !strings.HasPrefix(out, "~/shop (h.org/me/store)\nALIAS ") || !strings.Contains(out, "\n\n~/api, this project\nALIAS ") || strings.Index(out, "ada ") > strings.Index(out, "amber ") {
		t.Errorf("mail for the person is not first: %q", out)
	}
	var all []cli.ProjectRows
	if out := shows("api", "c2c list --everywhere --json"); json.Unmarshal([]byte(out), &all) != nil || len(all) != 2 || all[0].Here || !all[1].Here || len(all[0].Sessions) != 2 {
		t.Errorf("JSON: %s", out)
	}
	if out := shows("api", "c2c poll-inbox --project shop; c2c list --project shop"); !strings.Contains(out, "    the answer\n") || strings.Contains(out, "birch") {
		t.Errorf("the answer: %q", out)
	}
	for command, want := range map[string]string{
		"c2c send amber hi":                                        "amber was in ~/shop",
		"c2c send nobody hi --project shop":                        "no such alias \"nobody\"",
		"c2c list --project .":                                     "birch  unknown",
		"c2c list --everywhere --project shop":                     "--everywhere stands alone",
		"C2C_MCP_SESSION_ID=birch c2c send amber hi --project api": "only a person acts in another project",
		"C2C_MCP_SESSION_ID=birch c2c list --everywhere":           "only a person sees all projects",
	} {
		if out := shows("api", command); !strings.Contains(out, want) {
			t.Errorf("%s: %q", command, out)
		}
	}
	if there, _ := filepath.Glob(filepath.Join(home, ".c2c", "repos", "default")); len(there) > 0 {
		t.Error("a look outside of all projects made a root")
	}
}
