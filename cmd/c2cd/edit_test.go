package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/install"
)

// As Claude Code does with its file at each turn.
func TestAFileThatItsClientWritesMeanwhileIsPlannedAnew(t *testing.T) {
	for often, want := range map[int]bool{1: true, maxPlans: false} {
		home := t.TempDir()
		write := func(text string) {
			if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("{}")
		var out bytes.Buffer
		a := &app{stdout: &out, cwd: home, c2c: "/opt/c2c", getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
		o, err := a.options()
		if err != nil {
			t.Fatal(err)
		}
		plans := 0
		e := editor{app: a, o: o, plan: func(name string, o install.Options) (*install.Plan, error) {
			p, err := install.PlanInstall(name, o)
			if plans++; plans <= often {
				write(strings.Repeat(" ", plans) + "{}")
			}
			return p, err
		}}
		if done, err := e.edit([]string{"claude"}, true); (err == nil) != want || (len(done) == 1) != want {
			t.Errorf("written %d times: %v, %v, %s", often, done, err, out.String())
		}
	}
}
