package install

import (
	"errors"
	"fmt"
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

// An install for all projects takes c2c out of the files of single projects. A link there must not
// take it out of the person's files.
func TestALinkOutOfAProjectTakesC2COutOfNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.install(Claude)
	b.link("project/.mcp.json", "../home/.claude.json")
	before := b.tree()
	p := b.plan(Claude)
	if err := p.Apply(); err != nil || !p.Empty() {
		t.Errorf("the plan is %q, and Apply returns %v", p.Diff(true), err)
	}
	b.wantTree(before)
}

// c2c was installed in a project; then a pull puts a link in the place of a file, or of its
// directory.
func TestAnUninstallFollowsNoLinkThatAPullHasPutIntoTheProject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, client, path, link, to, outside string }{
		{"servers", Claude, ".mcp.json", ".mcp.json", "../home/work.json", "home/work.json"},
		{"a script", OpenCode, ".opencode/plugins/c2c.ts", ".opencode/plugins/c2c.ts", "../../../home/keep.ts", "home/keep.ts"},
		{"a directory", OpenCode, ".opencode/plugins/c2c.ts", ".opencode", "../home/own", "home/own/plugins/c2c.ts"},
		{"settings", OpenCode, ".opencode/opencode.json", ".opencode/opencode.json", "../../home/own.json", "home/own.json"},
	} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, from another project: %v", c.name, elsewhere), func(t *testing.T) {
				t.Parallel()
				b := newBox(t)
				b.o.InProject = true
				b.install(c.client)
				b.write(c.outside, b.read("project/"+c.path), 0o600) // the person has c2c there, too
				b.write("home/own/.git/x", "", 0o600)
				if err := os.RemoveAll(b.path("project/" + c.link)); err != nil {
					t.Fatal(err)
				}
				b.link("project/"+c.link, c.to)
				own := b.read(c.outside)
				if elsewhere {
					b.o.Project = b.path("home")
				}
				p := b.uninstall(c.client)
				if _, err := os.Stat(b.path(c.outside)); err != nil || b.read(c.outside) != own {
					t.Fatalf("the person's file was edited: %v", err)
				}
				if _, err := os.Readlink(b.path("project/" + c.link)); err != nil {
					t.Errorf("the link is gone: %v", err)
				}
				if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, b.path("project/"+c.path)) || !strings.Contains(notes, "out of the project") {
					t.Errorf("it notes %q", notes)
				}
				if journal, err := readJournal(b.o.StateDir); err != nil || len(journal.Files) > 0 {
					t.Errorf("records are left: %+v, %v", journal, err)
				}
			})
		}
	}
}

// Whoever keeps the configuration in a repository of dotfiles may link it at any time.
func TestAnUninstallFollowsTheLinksOfThePersonsConfiguration(t *testing.T) {
	t.Parallel()
	for client, dir := range map[string]string{Claude: ".claude", OpenCode: ".config/opencode"} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, linked after the install: %v", client, late), func(t *testing.T) {
				t.Parallel()
				b := newBox(t)
				b.write("home/"+dir+"/mine", "", 0o600)
				b.write("dotfiles/.git/x", "", 0o600)
				before := b.read("home/" + dir + "/mine")
				move := func() {
					if err := os.Rename(b.path("home/"+dir), b.path("dotfiles/config")); err != nil {
						t.Fatal(err)
					}
					b.link("home/"+dir, b.path("dotfiles/config"))
				}
				if !late {
					move()
				}
				b.install(client)
				if late {
					move()
				}
				b.uninstall(client)
				for path, text := range b.tree() {
					if strings.HasPrefix(path, "dotfiles") && strings.Contains(text, "c2c") {
						t.Errorf("left in %s: %s", path, text)
					}
				}
				if b.read("dotfiles/config/mine") != before {
					t.Error("the person's own file has changed")
				}
			})
		}
	}
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

// The kernel follows a relative link from the directory in which the link really is. Programs that
// manage dotfiles make such trees.
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

// Two names of one file: the second edit finds the first. Nothing was written through the second
// name, so there is nothing to put back.
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
