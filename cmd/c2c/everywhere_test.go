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

// projects makes a home with repositories, each with a remote unless that is "". The function shows
// runs a command in a terminal of the person, in a folder of the home.
func projects(t *testing.T, remotes map[string]string) (home string, shows func(folder, command string, more ...string) string) {
	t.Helper()
	root, env := shellHome(t)
	home = filepath.Dir(root)
	env = append(slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "C2C_MCP_BROKER_ROOT") }), "USER=ada")
	for folder, remote := range remotes {
		git, config := filepath.Join(home, folder, ".git"), ""
		if remote != "" {
			config = "[remote \"origin\"]\n\turl = " + remote + "\n"
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(git, "objects"), 0o700), os.Mkdir(filepath.Join(git, "refs"), 0o700),
			os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600), os.WriteFile(filepath.Join(git, "config"), []byte(config), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return home, func(folder, command string, more ...string) string {
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
}

// A person with several projects sees all of them from any folder, writes into each, and gets the
// answers there.
func TestAPersonHasAllProjectsFromAnyFolder(t *testing.T) {
	home, shows := projects(t, map[string]string{"shop": "git@h.org:me/store.git", "api": ""})
	if out := shows(".", "c2c list --everywhere"); !strings.HasPrefix(out, "(no session runs in any project; c2c start --alias amber ") {
		t.Errorf("of an empty home: %q", out)
	}
	shows("shop", "c2c register amber --session-id amber")
	const others = "; c2c list --everywhere shows your other projects"
	if out := shows("api", "c2c list"); !strings.Contains(out, others) {
		t.Errorf("of a project that was never used: %q", out)
	}
	shows("api", "c2c register birch --session-id birch; rm ~/.c2c/repos/*/broker/registry.json")
	shows("shop", "c2c register amber --session-id amber")
	if out := shows("api", "c2c list"); !strings.Contains(out, "(no sessions; ") || !strings.Contains(out, others) {
		t.Errorf("of a project without sessions: %q", out)
	}
	if out := shows("api", "C2C_MCP_SESSION_ID=birch c2c list"); strings.Contains(out, "everywhere") {
		t.Errorf("to an agent: %q", out)
	}
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
	registries, err := filepath.Glob(filepath.Join(home, ".c2c", "repos", "*", "broker", "registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range registries {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ended := "[\n{\"session_id\":\"oak\",\"alias\":\"oak\",\"pid\":1,\"pid_start_time\":1,\"registered_at\":1.0},\n"
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), "[\n", ended, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"c2c send amber hi":                                        "amber was in ~/shop",
		"c2c send nobody hi --project shop":                        "no such alias \"nobody\"",
		"c2c list --project shop":                                  "Ended and not shown: 1. c2c list --project shop --all shows them.",
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

// An agent writes into another project if its person has allowed that there, and is answered.
func TestAnAgentWritesIntoAProjectThatAllowsIt(t *testing.T) {
	_, shows := projects(t, map[string]string{"shop": "git@h.org:me/store.git", "api": ""})
	shows("shop", "c2c register amber --session-id amber")
	shows("api", "c2c register birch --session-id birch")
	const birch, amber = "C2C_MCP_SESSION_ID=birch", "C2C_MCP_SESSION_ID=amber"
	for _, step := range []struct{ folder, command, as, want string }{
		{"api", "c2c project", "", "~/api\nOther projects write to its sessions as NAME@api.\nAgents may not; c2c project allow NAME"},
		{"api", "c2c send amber@shop hi", birch, "shop takes no messages from agents of api, except answers; to allow it, a person runs: cd "},
		{"shop", "c2c project allow api", amber, "only a person decides what a project shares"},
		{"shop", "c2c project allow nothing", "", "no project is called"},
		{"shop", "c2c project allow shop", "", "this is shop itself: name the project whose agents may write here"},
		{"shop", "c2c project allow api", "", "~/shop (h.org/me/store)\nOther projects write to its sessions as NAME@shop.\nAgents of these may: api.\n"},
		{"api", "c2c send amber@shop hi --kind question", birch, "queued for amber@shop as "},
		{"api", "c2c history --sent", birch, "amber@shop"},
		{"shop", "c2c poll-inbox", amber, "birch@api"},
		{"shop", "c2c reply yes", amber, "queued for birch@api as "},
		{"api", "c2c poll-inbox", birch, "amber@shop"},
		{"shop", "c2c send birch@api new", amber, "api takes no messages from agents of shop"},
		{"api", "c2c send '#x@shop' hi", birch, "a room is in one project"},
		{"api", "c2c send all@shop hi", birch, "all is everybody in this project"},
		{"shop", "c2c project deny api", "", "Agents may not"},
		{"api", "c2c send amber@shop hi", birch, "shop takes no messages"},
		{"api", "c2c send amber@shop 'from the person'", "", "queued for amber@shop as "},
		{"api", "c2c send ambr@shop hi", "", "did you mean \"amber@shop\"? c2c list --everywhere shows the sessions of all projects to a person"},
		{"api", "c2c send amber@shpo hi", "", "c2c list --everywhere shows the sessions of all projects to a person; c2c relay add user@shpo pairs"},
		{"shop", "c2c poll-inbox", amber, "ada@api"},
		{"shop", "c2c project allow", "", "want allow NAME"},
	} {
		var as []string
		if step.as != "" {
			as = []string{step.as}
		}
		if out := shows(step.folder, step.command, as...); !strings.Contains(out, step.want) {
			t.Errorf("%s in %s as %q: %q", step.command, step.folder, step.as, out)
		}
	}
}

// A person makes a clone a project of its own, and one of the clones again.
func TestACloneIsSplitFromTheOthers(t *testing.T) {
	home, shows := projects(t, map[string]string{"shop": "git@h.org:me/store.git", "shop2": "https://h.org/me/store", "notes": ""})
	shows("shop", "c2c register amber --session-id amber")
	for _, step := range []struct{ folder, command, want, not string }{
		{"shop2", "c2c list", "amber ", ""},
		{"shop2", "C2C_MCP_SESSION_ID=amber c2c project split", "only a person", ""},
		{"notes", "c2c project split", "has no remote", ""},
		{"shop2", "c2c project split --undo", "is not split", ""},
		{"shop2", "c2c project split", "~/shop2 (split from h.org/me/store)\n", ""},
		{"shop2", "c2c project split", "is a project of its own already", ""},
		{"shop2", "c2c register birch --session-id birch; c2c list", "birch ", "amber "},
		{"shop", "c2c list", "amber ", "birch "},
		{"shop2", "c2c list", "This clone was split from the others of its remote.", ""},
		{"shop", "c2c list", "amber ", "This clone was split"},
		{"shop", "c2c list --everywhere --all", "~/shop2 (split from h.org/me/store)", ""},
		{"shop2", "c2c send amber@shop hi; c2c send amber@store hi", "queued for amber@store as ", "several"},
		{".", "mv shop2 shop3; cd shop3; c2c list", "birch ", "amber "},
		{"shop3", "c2c project split --undo; c2c list", "amber ", "birch "},
		{"shop3", "mkdir -p ../moved && mv ../shop3 ../moved/ && cd ../moved/shop3 && c2c list", "amber ", "birch "},
		{"moved/shop3", "c2c send birch hi", "another root of this project has birch: c2c project merge brings its mail here", ""},
		{"moved/shop3", "c2c project split; c2c list", "birch ", "amber "},
	} {
		out := shows(step.folder, step.command)
		if !strings.Contains(out, step.want) || step.not != "" && strings.Contains(out, step.not) {
			t.Errorf("%s in %s: %q", step.command, step.folder, out)
		}
	}
	if err := os.RemoveAll(filepath.Join(home, "moved")); err != nil {
		t.Fatal(err)
	}
}
