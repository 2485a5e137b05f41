package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"c2c/client"
)

// crash carries out the first halves of steps of a plan, and says whether there are more.
func (b *box) crash(p *Plan, count int) bool {
	b.t.Helper()
	steps, _, err := p.steps()
	if err != nil {
		b.t.Fatal(err)
	}
	done := min(count/2, len(steps))
	for _, c := range steps[:done] {
		if err := p.do(c); err != nil {
			b.t.Fatal(err)
		}
	}
	if done < len(steps) && count%2 == 1 { // the next has made its directories and no more
		if next := steps[done]; next.After != nil {
			if err := p.makeDirs(filepath.Dir(next.Target)); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	return done < len(steps)
}

// shared is a box whose project has another server.
func shared(t *testing.T) *box {
	b := newBox(t)
	b.write("project/.mcp.json", `{"mcpServers": {"other": {"command": "other"}}}`, 0o644)
	return b
}

func TestACrashBetweenAnyTwoStepsCanBeUndone(t *testing.T) {
	for _, client := range client.Names() {
		for _, again := range []bool{false, true} {
			for count, more := 0, true; more; count++ {
				more = t.Run(fmt.Sprintf("%s %d %v", client, count, again), func(t *testing.T) {
					b := shared(t)
					before := b.tree()
					more = b.crash(b.plan(client), count)
					if again {
						b.install(client)
					}
					b.uninstall(client)
					b.wantTree(before)
				}) && more
			}
		}
	}
}

func TestACrashOfAnUninstallIsCompletedByTheNext(t *testing.T) {
	for _, client := range client.Names() {
		for count, more := 0, true; more; count++ {
			more = t.Run(fmt.Sprintf("%s %d", client, count), func(t *testing.T) {
				b := shared(t)
				before := b.tree()
				b.install(client)
				p, err := PlanUninstall(client, b.o)
				if err != nil {
					t.Fatal(err)
				}
				more = b.crash(p, count)
				b.uninstall(client)
				b.wantTree(before)
			}) && more
		}
	}
}

func TestWhatADeadWriterLeftGoesAndALivingOnesStays(t *testing.T) {
	b := newBox(t)
	b.write("home/.codex/config.toml", "", 0o600)
	b.install(Codex)
	b.write("home/.codex/.c2c.tmp.999999999.1", "half", 0o600)
	b.write("home/.local/state/c2c/install/.c2c.tmp.999999999.2", "half", 0o600)
	b.write(fmt.Sprintf("home/.codex/.c2c.tmp.%d.3", os.Getppid()), "half", 0o600)
	b.uninstall(Codex)
	left := 0
	for name := range b.tree() {
		if strings.Contains(name, "999999999") || strings.Contains(name, "state") {
			t.Errorf("%s was left behind", name)
		}
		if strings.Contains(name, ".c2c.tmp.") {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d files of living writers are left", left)
	}
}

func TestWhatADeadInstallLeftBesideAnUnchangedFileGoes(t *testing.T) {
	b := shared(t)
	before := b.tree()
	b.crash(b.plan(Claude), 3) // the script's directory is made, and no file is edited
	b.write("home/.claude/hooks/.c2c.tmp.999999999.1", "half", 0o600)
	b.uninstall(Claude)
	b.wantTree(before)
}

// The list of what c2c made goes before the directories that it is in, and comes after them: a kill
// leaves them empty.
func TestEmptyDirectoriesOfOursGo(t *testing.T) {
	const ours = ".local/state/c2c/install"
	for dir := ours; dir != "."; dir = filepath.Dir(dir) {
		b := shared(t)
		before := b.tree()
		if err := os.MkdirAll(b.path("home/"+dir), 0o700); err != nil {
			t.Fatal(err)
		}
		b.uninstall(Claude)
		b.wantTree(before)
	}
	for dir := ours; dir != "."; dir = filepath.Dir(dir) {
		b := shared(t)
		b.write("home/"+dir+"/mine", "", fs.FileMode(0o600))
		before := b.tree()
		b.uninstall(Claude)
		b.wantTree(before)
	}
	// With the list nobody else's goes: neither an empty one of the person's, nor what is above
	// another directory for state.
	b := shared(t)
	if err := os.MkdirAll(b.path("home/.local/state"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := b.tree()
	b.install(Claude)
	b.uninstall(Claude)
	b.wantTree(before)
	b.o.StateDir = b.path("state/of/mine/c2c/install")
	if err := os.MkdirAll(b.path("state/of/mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	before = b.tree()
	b.uninstall(Claude)
	b.wantTree(before)
}

func TestInstallsAtOnceLoseNoRecord(t *testing.T) {
	for range 10 {
		b := newBox(t)
		if err := os.MkdirAll(b.path("home/.claude"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			if err := os.Mkdir(b.path(fmt.Sprintf("p%d", i)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		before := b.tree()
		var wg sync.WaitGroup
		for i := range 8 {
			o := b.o
			o.InProject, o.Project = true, b.path(fmt.Sprintf("p%d", i))
			wg.Go(func() {
				p, err := PlanInstall(Claude, o)
				if err == nil {
					err = p.Apply()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if written, _ := filepath.Glob(b.path("p*/.mcp.json")); len(written) != 8 {
			t.Errorf("installed in %d of 8 projects", len(written))
		}
		b.uninstall(Claude)
		b.wantTree(before)
	}
}

func TestAnInstallAfterAnUninstallThatCameBetweenIsWhole(t *testing.T) {
	b := newBox(t)
	b.o.InProject = true
	b.install(Claude)
	b.o.Project = b.path("other")
	if err := os.Mkdir(b.o.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	p := b.plan(Claude) // the server alone
	b.uninstall(Claude)
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	if p := b.plan(Claude); !p.Empty() {
		t.Errorf("something is missing:\n%s", p.Diff(true))
	}
}

func TestARefusedInstallLeavesNoDirectory(t *testing.T) {
	b := newBox(t)
	b.write("home/.claude/settings.json", "{}", 0o600)
	p := b.plan(Claude)
	b.write("home/.claude/settings.json", "{} ", 0o600)
	if err := p.Apply(); !errors.Is(err, ErrChanged) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(b.o.StateDir))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the journal is left: %v", err)
	}
}

// An install for all projects that is killed while it takes over what single projects had: the next
// one completes it, and uninstall leaves nothing.
func TestACrashWhileProjectsAreTakenOverIsCompletedByTheNext(t *testing.T) {
	for _, client := range []string{Claude, OpenCode} {
		for count, more := 0, true; more; count++ {
			more = t.Run(fmt.Sprintf("%s %d", client, count), func(t *testing.T) {
				b := shared(t)
				before := b.tree()
				b.o.InProject = true
				b.install(client)
				b.o.InProject = false
				more = b.crash(b.plan(client), count)
				b.install(client)
				if p := b.plan(client); !p.Empty() || b.tree()["project/.mcp.json"] != before["project/.mcp.json"] {
					t.Errorf("the project has %s, and the next install wants\n%s", b.tree()["project/.mcp.json"], p.Diff(true))
				}
				b.uninstall(client)
				b.wantTree(before)
			}) && more
		}
	}
}
