package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// link makes a symbolic link, and the directory that it is in.
func (b *box) link(name, to string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Symlink(to, b.path(name)); err != nil {
		b.t.Fatal(err)
	}
}

// A repository can contain links. Its author must not choose which file of the person c2c edits.
func TestALinkOutOfAProjectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, client, path, to string }{
		{"a script", OpenCode, ".opencode/plugins/c2c.ts", "../../../home/.bashrc"},
		{"a script that is missing", OpenCode, ".opencode/plugins/c2c.ts", "../../../home/new"},
		{"a directory of scripts", OpenCode, ".opencode/plugins", "../../home/plugins"},
		{"settings", OpenCode, ".opencode/opencode.json", "../../home/settings.json"},
		{"servers", Claude, ".mcp.json", "../home/settings.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.o.InProject = true
			b.write("home/.bashrc", "export MINE=1 # c2c\n", 0o600)
			b.write("home/settings.json", "{}", 0o600)
			b.write("home/plugins/x", "", 0o600)
			b.link("project/"+c.path, c.to)
			before := b.tree()
			if _, err := PlanInstall(c.client, b.o); err == nil || !strings.Contains(err.Error(), "a link leads out of the project") {
				t.Errorf("PlanInstall returns %v", err)
			}
			b.wantTree(before)
		})
	}
}

func TestALinkInsideAProjectIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.link("repository", "project") // the person's name of the project
	b.o.Project, b.o.InProject = b.path("repository"), true
	b.write("project/shared/mcp.json", "{}", 0o644)
	b.link("project/.mcp.json", "shared/mcp.json")
	before := b.tree()
	b.install(Claude)
	if !strings.Contains(b.read("project/shared/mcp.json"), serverName) {
		t.Error("the link's target has no server")
	}
	b.uninstall(Claude)
	b.wantTree(before)
}

// An install for all projects takes c2c out of the files of single projects. A link there must not take it out of the person's files.
func TestALinkOutOfAProjectTakesC2COutOfNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.install(Claude)
	b.link("project/.mcp.json", "../home/.claude.json")
	before := b.tree()
	p := b.plan(Claude)
	if err := p.Apply(); err != nil || !p.Empty() {
		t.Errorf("the plan is %q, and Apply returns %v", p.Diff(), err)
	}
	b.wantTree(before)
}

func TestAFileOfThePersonsWithTheNameOfAScriptStays(t *testing.T) {
	t.Parallel()
	for _, project := range []bool{false, true} {
		b := newBox(t)
		b.o.InProject = project
		path := map[bool]string{false: "home/.config/opencode/plugins/c2c.ts", true: "project/.opencode/plugins/c2c.ts"}[project]
		b.write(path, "export const mine = 1\n", 0o600)
		before := b.tree()
		if _, err := PlanInstall(OpenCode, b.o); err == nil || !strings.Contains(err.Error(), b.path(path)+": what is there is not from c2c") {
			t.Errorf("PlanInstall returns %v", err)
		}
		b.wantTree(before)
		b.write(path, "// the plugin of an older c2c\n", 0o600)
		b.install(OpenCode)
	}
}

// The kernel follows a relative link from the directory in which the link really is. Programs that manage dotfiles make such trees.
func TestARelativeLinkInALinkedDirectoryIsFollowedAsTheKernelDoes(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"up": "../shared/settings.json", "through another link": "../other/../../shared/settings.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.write("home/dotfiles/claude/x", "", 0o600)
			b.write("home/dotfiles/shared/settings.json", `{"model":"opus"}`, 0o600)
			b.write("home/shared/settings.json", `{"mine":1}`, 0o600)
			b.write("home/dotfiles/deep/down/x", "", 0o600)
			b.link("home/dotfiles/other", "deep/down") // so "other/.." is deep
			b.link("home/.claude", "dotfiles/claude")
			b.link("home/dotfiles/claude/settings.json", to)
			before := b.tree()
			b.install(Claude)
			if !strings.Contains(b.read("home/.claude/settings.json"), scriptName) {
				t.Error("the client's settings have no hooks")
			}
			if got := b.read("home/shared/settings.json"); got != `{"mine":1}` {
				t.Errorf("another file was edited: %s", got)
			}
			b.uninstall(Claude)
			b.wantTree(before)
		})
	}
}

// Two names of one file: the second edit finds the first. Nothing was written through the second name, so there is nothing to put back.
func TestAFileThatChangesDuringAnInstallIsToldOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("home/.claude/settings.json", "{}", 0o600)
	b.link("home/.claude.json", ".claude/settings.json")
	before := b.tree()
	err := b.plan(Claude).Apply()
	if !errors.Is(err, ErrChanged) || err.Error() != "edit "+b.path("home/.claude.json")+": "+ErrChanged.Error() {
		t.Errorf("Apply returns %v", err)
	}
	b.wantTree(before)
}
